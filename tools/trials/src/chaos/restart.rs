//! Processes are restarted one after the other behind a balancer that watches `/ready`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::chaos::scene::{Scene, Servers};
use crate::chaos::settle;
use crate::chaos::traffic;
use crate::failure::{Failure, Result};
use crate::figures;
use crate::options::{ChaosOptions, Common};
use crate::process::Process;
use crate::progress::say;
use crate::verdict::Verdict;

const SETTLING: Duration = Duration::from_mins(1);
/// What a deployment waits before it takes the next one down.
const BETWEEN: Duration = Duration::from_secs(1);

pub async fn run(common: &Common, options: &ChaosOptions) -> Result<Verdict> {
    let mut scene = Scene::build(common, Servers::OneForAll).await?;
    let length = Duration::from_secs(options.seconds);
    say(format!("restarting for {} s", options.seconds));
    let callers = Arc::clone(&scene.callers);
    let rolling = async {
        let enough = tokio::time::sleep(length);
        let loading = traffic::offer(options.rate, enough, traffic::balanced(&callers));
        tokio::join!(loading, roll(&mut scene.processes, length))
    };
    let (offered, stops) = tokio::select! {
        rolled = rolling => rolled,
        () = traffic::balance(&callers) => return Err(Failure::new("the balancer ended")),
    };
    let mut stops = stops?;
    say(format!("{} restarts; settling", stops.len()));
    let settled = settle::settle(&scene, SETTLING).await?;

    let mut verdict = Verdict::new("chaos restart");
    settled.judge(&callers, &mut verdict);
    let failed = callers.ledger.failed();
    verdict
        .note("offered", offered)
        .note("failed", failed)
        .note("restarts", stops.len())
        .note("stop_seconds", figures::spread(&mut stops))
        .promise("something was restarted", !stops.is_empty())
        .promise("no failed load", failed == 0)
        .promise("no duplicate callback", callers.receipts.duplicates() == 0);
    Ok(verdict)
}

/// Restarts each in turn; returns how long each took to stop, in seconds.
async fn roll(processes: &mut [Process], length: Duration) -> Result<Vec<f64>> {
    let begun = Instant::now();
    let mut stops = Vec::new();
    while begun.elapsed() < length {
        for process in processes.iter_mut() {
            tokio::time::sleep(BETWEEN).await;
            stops.push(process.terminate().await?.as_secs_f64());
            process.start()?;
            process.ready().await?;
        }
    }
    Ok(stops)
}
