//! Stops processes, some at the worst moment, and continues or kills them.
//!
//! A killed process closes its sockets. A stopped process keeps its sockets, its transactions
//! and their locks: only timeouts and leases help the others.

pub mod large_loads;
pub mod process_stopper;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use rand::seq::SliceRandom as _;
use serde_json::json;

use crate::chaos::freeze::large_loads::LargeLoads;
use crate::chaos::freeze::process_stopper::{ProcessStopper, StopMoment};
use crate::chaos::interruption_findings::InterruptionFindings;
use crate::harness::checks::claim_watch;
use crate::harness::checks::interruption;
use crate::harness::load::open_loop;
use crate::harness::{
    ChaosCallers, DatabaseLayout, Deployment, FailureContext as _, InterruptionEnd, Interruptions,
    LongshoredProcess, LostLeases, Result, TrialEnvironment, TrialFailure, TrialVerdict, judge,
    report_progress,
};
use crate::options::{ChaosInterruptionOptions, CommonOptions};

const WARM_UP: Duration = Duration::from_secs(3);
const PAUSE_BETWEEN_ROUNDS: Duration = Duration::from_secs(8);
const KILLED_PERCENT: u32 = 30;

pub async fn run(
    common: &CommonOptions,
    options: &ChaosInterruptionOptions,
) -> Result<TrialVerdict> {
    let deployment = Deployment::two_serve_three_work();
    let mut environment =
        TrialEnvironment::build(common, DatabaseLayout::SingleShard, deployment).await?;
    let server = environment.database_server()?.pool("postgres");
    let (interruptions, leases) = (Interruptions::default(), LostLeases::default());
    let large = LargeLoads::default();
    let (shards, callers) = (environment.shards.clone(), Arc::clone(&environment.callers));
    environment.wait_until_leased().await?;

    let injection = async {
        let mut run = FreezeRun {
            stopper: ProcessStopper::new(server),
            interruptions: &interruptions,
            large_loads: &large,
            callers: &callers,
        };
        let rounds = run.rounds(&mut environment.processes, options);
        let load = open_loop::balanced_load(&callers);
        let (offered, moments) = open_loop::offer_loads_during(options.rate, load, rounds).await;
        let moments = moments?;
        let findings =
            InterruptionFindings::read(&environment, interruptions.all(), &leases).await?;
        Ok::<_, TrialFailure>((offered, moments, findings))
    };
    let (offered, moments, mut findings) = tokio::select! {
        injection = injection => injection?,
        watched = claim_watch::watch_claims(&shards, &interruptions, &leases) => match watched? {},
        () = open_loop::run_balancer(&callers) => return Err(TrialFailure::new("the load balancer ended unexpectedly")),
        () = large.run(&callers) => return Err(TrialFailure::new("the large loads ended unexpectedly")),
    };
    let mut verdict = TrialVerdict::new("chaos freeze");
    findings.judge(&environment, offered, options.rate, &mut verdict);
    judge(&mut verdict, &moments, options.rounds, &large);
    Ok(verdict)
}

fn judge(verdict: &mut TrialVerdict, moments: &[StopMoment], rounds: usize, large: &LargeLoads) {
    let count = |moment| moments.iter().filter(|it| **it == moment).count();
    let (in_transaction, in_write) = (
        count(StopMoment::IdleInTransaction),
        count(StopMoment::ClientWrite),
    );
    let planned = plan_moments(rounds);
    let wanted = |moment| planned.iter().filter(|it| **it == moment).count();
    let in_transaction_wanted = wanted(StopMoment::IdleInTransaction);
    let in_write_wanted = wanted(StopMoment::ClientWrite);
    judge! { verdict;
        record "stopped" => json!({"idle_in_transaction": in_transaction, "client_write": in_write,
            "at_any_moment": count(StopMoment::Any)}),
        record "large_loads" => large.count(),
        check_figure format!("at least {in_transaction_wanted} were stopped idle in transaction") =>
            in_transaction >= in_transaction_wanted,
        check_figure format!("at least {in_write_wanted} were stopped in ClientWrite") =>
            in_write >= in_write_wanted,
    }
}

/// Of ten rounds, four stop a process idle in a transaction and two in `ClientWrite`.
fn plan_moments(rounds: usize) -> Vec<StopMoment> {
    let (in_transaction, in_write) = ((rounds * 4).div_ceil(10), (rounds * 2).div_ceil(10));
    let moments = (0..rounds).map(|round| {
        if round < in_transaction {
            StopMoment::IdleInTransaction
        } else if round < in_transaction + in_write {
            StopMoment::ClientWrite
        } else {
            StopMoment::Any
        }
    });
    moments.collect()
}

struct FreezeRun<'a> {
    stopper: ProcessStopper,
    interruptions: &'a Interruptions,
    large_loads: &'a LargeLoads,
    callers: &'a ChaosCallers,
}

impl FreezeRun<'_> {
    /// Runs every round; returns the moments at which processes were stopped.
    async fn rounds(
        &mut self,
        processes: &mut [LongshoredProcess],
        options: &ChaosInterruptionOptions,
    ) -> Result<Vec<StopMoment>> {
        let mut planned = plan_moments(options.rounds);
        planned.shuffle(&mut rand::rng());
        let mut moments = Vec::new();
        tokio::time::sleep(WARM_UP).await;
        for (round, moment) in planned.into_iter().enumerate() {
            let places =
                interruption::interruptible_processes(processes, round + 1 == options.rounds);
            let length = options.draw_length();
            moments.push(self.round(processes, places, moment, length).await?);
            tokio::time::sleep(PAUSE_BETWEEN_ROUNDS).await;
        }
        Ok(moments)
    }

    async fn round(
        &mut self,
        processes: &mut [LongshoredProcess],
        places: Range<usize>,
        wanted: StopMoment,
        length: Duration,
    ) -> Result<StopMoment> {
        let (place, moment) = self.stop(processes, places, wanted).await?;
        let process = processes.get_mut(place);
        let process = process.context("the process does not exist")?;
        let pid = process.child.pid().unwrap_or_default();
        let target = process.serves_callers().then_some(place);
        let target = target.filter(|place| *place < self.callers.clients.len());
        self.interruptions.begin(pid, target);
        report_progress(format!(
            "{} is stopped {} for {:.0} s",
            process.name(),
            moment.name(),
            length.as_secs_f64()
        ));
        tokio::time::sleep(length).await;
        if rand::random_range(0..100) < KILLED_PERCENT {
            process.child.kill();
            self.interruptions.end(InterruptionEnd::Killed);
            report_progress(format!("{} is killed and started again", process.name()));
            process.start()?;
            if process.serves_callers() {
                process.wait_until_ready().await?;
            }
        } else {
            process.child.resume()?;
            self.interruptions.end(InterruptionEnd::Continued);
        }
        Ok(moment)
    }

    /// Stops a process at this moment, or at any moment if it cannot be caught.
    async fn stop(
        &mut self,
        processes: &[LongshoredProcess],
        places: Range<usize>,
        wanted: StopMoment,
    ) -> Result<(usize, StopMoment)> {
        self.large_loads
            .set_wanted(wanted == StopMoment::ClientWrite);
        let stopped = self
            .stopper
            .stop_at(processes, places.clone(), wanted)
            .await;
        self.large_loads.set_wanted(false);
        if let Some(place) = stopped? {
            return Ok((place, wanted));
        }
        report_progress(format!("no process was caught {}", wanted.name()));
        let place = self
            .stopper
            .stop_at(processes, places, StopMoment::Any)
            .await?;
        place
            .map(|place| (place, StopMoment::Any))
            .context("there is no process to stop")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_ten_rounds_four_are_in_a_transaction_and_two_in_a_write() {
        let count = |rounds, moment| {
            plan_moments(rounds)
                .iter()
                .filter(|it| **it == moment)
                .count()
        };
        assert_eq!(count(10, StopMoment::IdleInTransaction), 4);
        assert_eq!(count(10, StopMoment::ClientWrite), 2);
        assert_eq!(count(2, StopMoment::IdleInTransaction), 1);
        assert_eq!(count(2, StopMoment::ClientWrite), 1);
    }
}
