//! Processes are stopped, some at the worst moment, and continued or killed.
//!
//! A killed process closes its sockets. A stopped one keeps them, its transactions and
//! their locks: only limits on connections and leases help the others.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use rand::seq::SliceRandom as _;
use serde_json::json;

use crate::chaos::catch::{Catcher, Moment};
use crate::chaos::claims::{self, Leases};
use crate::chaos::interruption::{self, End, Interruptions};
use crate::chaos::large_loads::LargeLoads;
use crate::chaos::promises::Findings;
use crate::chaos::scene::{Callers, Deployment, Scene, Servers, Storage};
use crate::chaos::traffic;
use crate::failure::{Failure, Result};
use crate::options::{Common, InterruptionOptions};
use crate::process::Process;
use crate::progress::say;
use crate::verdict::Verdict;

const WARM_UP: Duration = Duration::from_secs(3);
const PAUSE_BETWEEN_ROUNDS: Duration = Duration::from_secs(8);
const KILLED_PERCENT: u32 = 30;

pub async fn run(common: &Common, options: &InterruptionOptions) -> Result<Verdict> {
    let storage = Storage::create(Servers::OneShard).await?;
    let mut scene = Scene::with(common, storage, Deployment::two_serve_three_work()).await?;
    let server = scene.postgres.first().map(|it| it.pool("postgres"));
    let server = server.ok_or_else(|| Failure::new("there is no server"))?;
    let (interruptions, leases) = (Interruptions::default(), Leases::default());
    let large = LargeLoads::default();
    let (shards, callers) = (scene.shards.clone(), Arc::clone(&scene.callers));

    let storm = async {
        let mut run = FreezeRun {
            catcher: Catcher::new(server),
            interruptions: &interruptions,
            large: &large,
            callers: &callers,
        };
        let rounds = run.rounds(&mut scene.processes, options);
        let load = traffic::balanced(&callers);
        let (offered, moments) = traffic::offer_during(options.rate, load, rounds).await;
        let moments = moments?;
        let findings = Findings::gather(&scene, interruptions.all(), &leases).await?;
        Ok::<_, Failure>((offered, moments, findings))
    };
    let (offered, moments, mut findings) = tokio::select! {
        storm = storm => storm?,
        watched = claims::watch(&shards, &interruptions, &leases) => {
            watched?;
            return Err(Failure::new("the watch over claims ended"));
        }
        () = traffic::balance(&callers) => return Err(Failure::new("the balancer ended")),
        () = large.run(&callers) => return Err(Failure::new("the large loads ended")),
    };
    let mut verdict = Verdict::new("chaos freeze");
    findings.judge(&scene, offered, options.rate, &mut verdict);
    judge(&mut verdict, &moments, options.rounds, &large);
    Ok(verdict)
}

fn judge(verdict: &mut Verdict, moments: &[Moment], rounds: usize, large: &LargeLoads) {
    let count = |moment| moments.iter().filter(|it| **it == moment).count();
    let (in_transaction, in_write) = (count(Moment::IdleInTransaction), count(Moment::ClientWrite));
    let planned = planned(rounds);
    let wanted = |moment| planned.iter().filter(|it| **it == moment).count();
    let in_transaction_wanted = wanted(Moment::IdleInTransaction);
    let in_write_wanted = wanted(Moment::ClientWrite);
    verdict
        .note(
            "stopped",
            json!({"idle_in_transaction": in_transaction, "client_write": in_write,
                "at_any_moment": count(Moment::Any)}),
        )
        .note("large_loads", large.count())
        .promise(
            format!("at least {in_transaction_wanted} were stopped idle in transaction"),
            in_transaction >= in_transaction_wanted,
        )
        .promise(
            format!("at least {in_write_wanted} were stopped in ClientWrite"),
            in_write >= in_write_wanted,
        );
}

/// Of ten, four are stopped idle in a transaction and two in `ClientWrite`.
fn planned(rounds: usize) -> Vec<Moment> {
    let (in_transaction, in_write) = ((rounds * 4).div_ceil(10), (rounds * 2).div_ceil(10));
    let moments = (0..rounds).map(|round| {
        if round < in_transaction {
            Moment::IdleInTransaction
        } else if round < in_transaction + in_write {
            Moment::ClientWrite
        } else {
            Moment::Any
        }
    });
    moments.collect()
}

struct FreezeRun<'a> {
    catcher: Catcher,
    interruptions: &'a Interruptions,
    large: &'a LargeLoads,
    callers: &'a Callers,
}

impl FreezeRun<'_> {
    /// Every round; returns the moments at which processes were stopped.
    async fn rounds(
        &mut self,
        processes: &mut [Process],
        options: &InterruptionOptions,
    ) -> Result<Vec<Moment>> {
        let mut planned = planned(options.rounds);
        planned.shuffle(&mut rand::rng());
        let mut moments = Vec::new();
        tokio::time::sleep(WARM_UP).await;
        for (round, moment) in planned.into_iter().enumerate() {
            let places = interruption::places(processes, round + 1 == options.rounds);
            let length = options.length();
            moments.push(self.round(processes, places, moment, length).await?);
            tokio::time::sleep(PAUSE_BETWEEN_ROUNDS).await;
        }
        Ok(moments)
    }

    async fn round(
        &mut self,
        processes: &mut [Process],
        places: Range<usize>,
        wanted: Moment,
        length: Duration,
    ) -> Result<Moment> {
        let (place, moment) = self.stop(processes, places, wanted).await?;
        let process = processes.get_mut(place);
        let process = process.ok_or_else(|| Failure::new("there is no such process"))?;
        let pid = process.pid().unwrap_or_default();
        let target = process.is_serving().then_some(place);
        let target = target.filter(|place| *place < self.callers.targets.len());
        self.interruptions.begin(pid, target);
        say(format!(
            "{} is stopped {} for {:.0} s",
            process.name(),
            moment.name(),
            length.as_secs_f64()
        ));
        tokio::time::sleep(length).await;
        if rand::random_range(0..100) < KILLED_PERCENT {
            process.kill();
            self.interruptions.end(End::Killed);
            say(format!("{} is killed and started again", process.name()));
            process.start()?;
            if process.is_serving() {
                process.ready().await?;
            }
        } else {
            process.resume()?;
            self.interruptions.end(End::Continued);
        }
        Ok(moment)
    }

    /// Stops a process at this moment, or at any if it cannot be caught.
    async fn stop(
        &mut self,
        processes: &[Process],
        places: Range<usize>,
        wanted: Moment,
    ) -> Result<(usize, Moment)> {
        self.large.want(wanted == Moment::ClientWrite);
        let stopped = self
            .catcher
            .stop_at(processes, places.clone(), wanted)
            .await;
        self.large.want(false);
        if let Some(place) = stopped? {
            return Ok((place, wanted));
        }
        say(format!("no process was caught {}", wanted.name()));
        let place = self.catcher.stop_at(processes, places, Moment::Any).await?;
        place
            .map(|place| (place, Moment::Any))
            .ok_or_else(|| Failure::new("there is no process to stop"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_ten_rounds_four_are_in_a_transaction_and_two_in_a_write() {
        let count = |rounds, moment| planned(rounds).iter().filter(|it| **it == moment).count();
        assert_eq!(count(10, Moment::IdleInTransaction), 4);
        assert_eq!(count(10, Moment::ClientWrite), 2);
        assert_eq!(count(2, Moment::IdleInTransaction), 1);
        assert_eq!(count(2, Moment::ClientWrite), 1);
    }
}
