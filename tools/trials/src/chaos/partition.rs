//! The connection between one process and PostgreSQL becomes silent, and nothing is closed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::chaos::interruption_findings::InterruptionFindings;
use crate::harness::build_profile;
use crate::harness::checks::claim_watch;
use crate::harness::checks::interruption;
use crate::harness::load::open_loop;
use crate::harness::measurement::statistics;
use crate::harness::{
    BaseEnvironment, ChaosCallers, DatabaseLayout, Deployment, FailureContext as _,
    InterruptionEnd, Interruptions, LongshoredProcess, LostLeases, Result, SilenceDirection,
    SilenceEnd, SilentRelay, TrialEnvironment, TrialFailure, TrialVerdict, judge, report_progress,
};
use crate::options::{ChaosInterruptionOptions, CommonOptions};

const WARM_UP: Duration = Duration::from_secs(3);
const PAUSE_BETWEEN_ROUNDS: Duration = Duration::from_secs(8);
/// Loads must work again by then.
const MAX_RECOVERY: Duration = Duration::from_secs(10);
/// The trial tries loads for this long before it continues.
const RECOVERY_TIMEOUT: Duration = build_profile::extend_timeout(Duration::from_secs(40));
const LOAD_TIMEOUT: Duration =
    build_profile::choose(Duration::from_secs(10), Duration::from_secs(2));
const RECOVERY_POLL_INTERVAL: Duration = Duration::from_millis(100);

pub async fn run(
    common: &CommonOptions,
    options: &ChaosInterruptionOptions,
) -> Result<TrialVerdict> {
    let base = BaseEnvironment::build_for_chaos(common, DatabaseLayout::SingleShard).await?;
    let mut deployment = Deployment::two_serve_three_work();
    let server = base.database_server()?.address();
    let relays = deployment.add_silent_relays(server).await?;
    let mut environment = TrialEnvironment::start(base, deployment).await?;
    let (interruptions, leases) = (Interruptions::default(), LostLeases::default());
    let (shards, callers) = (environment.shards.clone(), Arc::clone(&environment.callers));
    environment.wait_until_leased().await?;

    let injection = async {
        let run = PartitionRun {
            relays: &relays,
            interruptions: &interruptions,
            callers: &callers,
        };
        let rounds = run.rounds(&mut environment.processes, options);
        let load = open_loop::balanced_load(&callers);
        let (offered, recoveries) = open_loop::offer_loads_during(options.rate, load, rounds).await;
        let recoveries = recoveries?;
        let findings =
            InterruptionFindings::read(&environment, interruptions.all(), &leases).await?;
        Ok::<_, TrialFailure>((offered, recoveries, findings))
    };
    let (offered, recoveries, mut findings) = tokio::select! {
        injection = injection => injection?,
        watched = claim_watch::watch_claims(&shards, &interruptions, &leases) => match watched? {},
        () = open_loop::run_balancer(&callers) => return Err(TrialFailure::new("the load balancer ended unexpectedly")),
    };
    let mut verdict = TrialVerdict::new("chaos partition");
    findings.judge(&environment, offered, options.rate, &mut verdict);
    judge(&mut verdict, &recoveries);
    Ok(verdict)
}

/// How long each process that was cut off took until it accepted a load.
fn judge(verdict: &mut TrialVerdict, recoveries: &[Option<Duration>]) {
    let seconds = recoveries.iter().map(|it| {
        let it = (*it)?;
        Some(statistics::round_to(it.as_secs_f64(), 2))
    });
    let seconds: Vec<Option<f64>> = seconds.collect();
    judge! { verdict;
        record "recovery_seconds" => json!(seconds),
        check "loads work again" => recoveries.iter().all(Option::is_some),
        check_figure "loads work again within 10 s of the end" =>
            recoveries.iter().all(|it| it.is_some_and(|it| it <= MAX_RECOVERY)),
    }
}

struct PartitionRun<'a> {
    relays: &'a [SilentRelay],
    interruptions: &'a Interruptions,
    callers: &'a ChaosCallers,
}

impl PartitionRun<'_> {
    /// Runs every round; returns how long loads took to work again after each.
    async fn rounds(
        &self,
        processes: &mut [LongshoredProcess],
        options: &ChaosInterruptionOptions,
    ) -> Result<Vec<Option<Duration>>> {
        let mut recoveries = Vec::new();
        tokio::time::sleep(WARM_UP).await;
        for round in 0..options.rounds {
            let places =
                interruption::interruptible_processes(processes, round + 1 == options.rounds);
            let place = rand::random_range(places);
            let length = options.draw_length();
            recoveries.push(self.round(processes, place, round, length).await?);
            tokio::time::sleep(PAUSE_BETWEEN_ROUNDS).await;
        }
        Ok(recoveries)
    }

    async fn round(
        &self,
        processes: &mut [LongshoredProcess],
        place: usize,
        round: usize,
        length: Duration,
    ) -> Result<Option<Duration>> {
        let process = processes.get_mut(place).zip(self.relays.get(place));
        let (process, relay) = process.context("the process does not exist")?;
        let direction = SilenceDirection::in_turn(round);
        let target = Some(place).filter(|place| *place < self.callers.clients.len());
        let pid = process.child.pid().unwrap_or_default();
        report_progress(format!(
            "silencing the connection of {} to PostgreSQL ({}) for {:.0} s",
            process.name(),
            direction.name(),
            length.as_secs_f64()
        ));
        self.interruptions.begin(pid, target);
        relay.silence(direction);
        tokio::time::sleep(length).await;
        relay.restore(SilenceEnd::in_turn(round));
        self.interruptions.end(InterruptionEnd::Continued);
        process.child.check_running()?;
        Ok(self.measure_recovery(target).await)
    }

    /// How long it takes until a load is accepted, by the interrupted process if it serves
    /// callers.
    async fn measure_recovery(&self, target: Option<usize>) -> Option<Duration> {
        let begun = Instant::now();
        let place = target.unwrap_or_default();
        let mut number = u64::MAX / 2;
        while begun.elapsed() < RECOVERY_TIMEOUT {
            number += 1;
            let load = open_loop::load_once(self.callers, place, number);
            // A load that hangs must not hide that the next one works.
            if tokio::time::timeout(LOAD_TIMEOUT, load).await == Ok(true) {
                return Some(begun.elapsed());
            }
            tokio::time::sleep(RECOVERY_POLL_INTERVAL).await;
        }
        None
    }
}
