//! Processes restart one after the other behind a load balancer that checks `/ready`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::harness::checks::completion;
use crate::harness::load::open_loop;
use crate::harness::measurement::statistics;
use crate::harness::{
    DatabaseLayout, Deployment, LongshoredProcess, Result, TrialEnvironment, TrialFailure,
    TrialVerdict, judge, report_progress,
};
use crate::options::{ChaosLoadOptions, CommonOptions};

const SETTLE_TIMEOUT: Duration = Duration::from_mins(1);
/// A rolling deployment waits this long before the next restart.
const PAUSE_BETWEEN_RESTARTS: Duration = Duration::from_secs(1);

pub async fn run(common: &CommonOptions, options: &ChaosLoadOptions) -> Result<TrialVerdict> {
    let deployment = Deployment::two_all().with_long_drain_grace();
    let mut environment =
        TrialEnvironment::build(common, DatabaseLayout::SharedServer, deployment).await?;
    let length = Duration::from_secs(options.seconds);
    report_progress(format!("restarting for {} s", options.seconds));
    let callers = Arc::clone(&environment.callers);
    let rolling = async {
        let enough = tokio::time::sleep(length);
        let loading =
            open_loop::offer_loads(options.rate, enough, open_loop::balanced_load(&callers));
        tokio::join!(loading, restart_in_turn(&mut environment.processes, length))
    };
    let (offered, stops) = tokio::select! {
        rolled = rolling => rolled,
        () = open_loop::run_balancer(&callers) => return Err(TrialFailure::new("the load balancer ended unexpectedly")),
    };
    let mut stops = stops?;
    report_progress(format!("{} restarts; waiting for completion", stops.len()));
    let settled = completion::wait_for_completion(&environment, SETTLE_TIMEOUT).await?;

    let mut verdict = TrialVerdict::new("chaos restart");
    settled.judge(&callers, &mut verdict);
    callers.load_log.judge_acceptance(&mut verdict);
    judge! { verdict;
        record "offered" => offered,
        record "restarts" => stops.len(),
        record "stop_seconds" => statistics::summarize(&mut stops),
        check "a process was restarted" => !stops.is_empty(),
        check "no duplicate callback" => callers.receipts.count_duplicates() == 0,
    }
    Ok(verdict)
}

/// Restarts each process in turn; returns how many seconds each took to stop.
async fn restart_in_turn(
    processes: &mut [LongshoredProcess],
    length: Duration,
) -> Result<Vec<f64>> {
    let begun = Instant::now();
    let mut stops = Vec::new();
    while begun.elapsed() < length {
        for process in processes.iter_mut() {
            tokio::time::sleep(PAUSE_BETWEEN_RESTARTS).await;
            stops.push(process.terminate().await?.as_secs_f64());
            process.start_and_wait().await?;
        }
    }
    Ok(stops)
}
