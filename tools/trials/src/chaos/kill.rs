//! Two processes under load; one of them is killed at random every 1 to 3 seconds.

use std::time::{Duration, Instant};

use crate::harness::build_profile;
use crate::harness::checks::claim_watch;
use crate::harness::checks::completion;
use crate::harness::load::open_loop;
use crate::harness::measurement::statistics;
use crate::harness::{
    CompletionReport, DatabaseLayout, Interruption, InterruptionEnd, Interruptions,
    LongshoredProcess, LostLeases, Result, TrialEnvironment, TrialFailure, TrialVerdict, judge,
    report_progress,
};
use crate::options::{ChaosLoadOptions, CommonOptions};

const MIN_LOADS_PER_SECOND: f64 = 200.0;
const MAX_TAKEOVER_SECONDS: f64 = 15.0;
const SETTLE_TIMEOUT: Duration = Duration::from_secs(90);
/// A process that is ready has claims soon.
const CLAIM_PAUSE: Duration = Duration::from_secs(3);

pub async fn run(common: &CommonOptions, options: &ChaosLoadOptions) -> Result<TrialVerdict> {
    let mut environment =
        TrialEnvironment::build_default(common, DatabaseLayout::SharedServer).await?;
    let (kills, leases) = (Interruptions::default(), LostLeases::default());
    let length = Duration::from_secs(options.seconds);
    report_progress(format!("killing for {} s", options.seconds));
    let shards = environment.shards.clone();
    let injection = async {
        let load = open_loop::unbalanced_load(&environment.callers);
        let killing = kill_processes(&mut environment.processes, length, &kills);
        let (offered, killed) = open_loop::offer_loads_during(options.rate, load, killing).await;
        killed?;
        report_progress(format!(
            "{} kills; waiting for completion",
            kills.all().len()
        ));
        Ok::<_, TrialFailure>((
            offered,
            completion::wait_for_completion(&environment, SETTLE_TIMEOUT).await?,
        ))
    };
    let (offered, settled) = tokio::select! {
        injection = injection => injection?,
        watched = claim_watch::watch_claims(&shards, &kills, &leases) => match watched? {},
    };
    let offered = offered.per_second;
    Ok(build_verdict(&environment, &settled, &kills.all(), offered))
}

fn build_verdict(
    environment: &TrialEnvironment,
    settled: &CompletionReport,
    kills: &[Interruption],
    offered: f64,
) -> TrialVerdict {
    let mut verdict = TrialVerdict::new("chaos kill");
    settled.judge(&environment.callers, &mut verdict);
    let taken_up = kills.iter().filter_map(Interruption::takeover_time);
    // The claims were free by the next poll.
    let taken_up = taken_up.map(|it| (it + claim_watch::POLL_INTERVAL).as_secs_f64());
    let mut taken_up: Vec<f64> = taken_up.collect();
    let worst = statistics::percentile(&mut taken_up, 990);
    judge! { verdict;
        record "offered_per_second" => statistics::round_to(offered, 1),
        record "kills" => kills.len(),
        record "kills_with_claims" => taken_up.len(),
        record "takeover_seconds" => statistics::summarize(&mut taken_up),
        check_figure "at least 200 loads per second" => offered >= MIN_LOADS_PER_SECOND * 0.99,
        check "a process with claims was killed" => !taken_up.is_empty(),
        check_figure "claims are taken over within 15 s at p99" =>
            worst.is_none_or(|worst| worst <= MAX_TAKEOVER_SECONDS),
    }
    verdict
}

async fn kill_processes(
    processes: &mut [LongshoredProcess],
    length: Duration,
    kills: &Interruptions,
) -> Result<()> {
    let begun = Instant::now();
    loop {
        let pause = Duration::from_millis(rand::random_range(1000..=3000));
        let is_late = begun.elapsed() + pause > length;
        let had_claims = |it: &Interruption| it.takeover_time().is_some();
        if is_late
            && (kills.all().iter().any(had_claims)
                || begun.elapsed() > build_profile::extend_timeout(length))
        {
            break;
        }
        tokio::time::sleep(pause).await;
        let which = rand::random_range(0..processes.len());
        let Some(process) = processes.get_mut(which) else {
            continue;
        };
        // On a slow machine, a process may be killed before it has a claim, each time.
        if is_late {
            process.wait_until_ready().await?;
            tokio::time::sleep(CLAIM_PAUSE).await;
        }
        process.child.check_running()?;
        if let Some(pid) = process.child.kill() {
            kills.begin(pid, None);
            kills.end(InterruptionEnd::Killed);
        }
        process.start()?;
    }
    for process in processes {
        process.wait_until_ready().await?;
    }
    Ok(())
}
