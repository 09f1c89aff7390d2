//! The line between one process and PostgreSQL falls silent, and nothing is closed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::chaos::claims::{self, Leases};
use crate::chaos::interruption::{self, End, Interruptions};
use crate::chaos::promises::Findings;
use crate::chaos::scene::{CONTROL, Callers, Deployment, SHARD, Scene, Servers, Storage};
use crate::chaos::traffic;
use crate::failure::{Failure, Result};
use crate::figures;
use crate::options::{Common, InterruptionOptions};
use crate::process::{Databases, Process};
use crate::progress::say;
use crate::silent_relay::{Aftermath, Direction, SilentRelay};
use crate::verdict::Verdict;

const WARM_UP: Duration = Duration::from_secs(3);
const PAUSE_BETWEEN_ROUNDS: Duration = Duration::from_secs(8);
/// Loads work again by then.
const MAX_RECOVERY: Duration = Duration::from_secs(10);
/// Loads are tried for so long before the trial goes on.
const MAX_RECOVERY_WATCHED: Duration = Duration::from_secs(40);
const MAX_LOAD_TIME: Duration = Duration::from_secs(2);
const RECOVERY_POLL_INTERVAL: Duration = Duration::from_millis(100);
const DIRECTIONS: [Direction; 3] = [Direction::Both, Direction::ToServer, Direction::ToClient];

pub async fn run(common: &Common, options: &InterruptionOptions) -> Result<Verdict> {
    let storage = Storage::create(Servers::OneShard).await?;
    let mut deployment = Deployment::two_serve_three_work();
    let mut relays = Vec::new();
    for spec in &mut deployment.processes {
        let server = storage.postgres.first();
        let server = server.ok_or_else(|| Failure::new("there is no server"))?;
        let relay = SilentRelay::start(server.address()).await?;
        spec.databases = Some(databases_at(relay.address));
        relays.push(relay);
    }
    let mut scene = Scene::with(common, storage, deployment).await?;
    let (interruptions, leases) = (Interruptions::default(), Leases::default());
    let (shards, callers) = (scene.shards.clone(), Arc::clone(&scene.callers));

    let storm = async {
        let run = PartitionRun {
            relays: &relays,
            interruptions: &interruptions,
            callers: &callers,
        };
        let rounds = run.rounds(&mut scene.processes, options);
        let load = traffic::balanced(&callers);
        let (offered, recoveries) = traffic::offer_during(options.rate, load, rounds).await;
        let recoveries = recoveries?;
        let findings = Findings::gather(&scene, interruptions.all(), &leases).await?;
        Ok::<_, Failure>((offered, recoveries, findings))
    };
    let (offered, recoveries, mut findings) = tokio::select! {
        storm = storm => storm?,
        watched = claims::watch(&shards, &interruptions, &leases) => {
            watched?;
            return Err(Failure::new("the watch over claims ended"));
        }
        () = traffic::balance(&callers) => return Err(Failure::new("the balancer ended")),
    };
    let mut verdict = Verdict::new("chaos partition");
    findings.judge(&scene, offered, options.rate, &mut verdict);
    judge(&mut verdict, &recoveries);
    Ok(verdict)
}

/// Both databases of the trial, behind an address.
fn databases_at(address: SocketAddr) -> Databases {
    let url = |name: &str| format!("postgres://postgres@{address}/{name}");
    Databases {
        control: url(CONTROL),
        shards: vec![(SHARD.to_owned(), url(SHARD))],
    }
}

/// Of the servers that were cut off, how long each took until a load was accepted.
fn judge(verdict: &mut Verdict, recoveries: &[Option<Duration>]) {
    let seconds = recoveries.iter().map(|it| {
        let it = (*it)?;
        Some(figures::rounded(it.as_secs_f64(), 2))
    });
    let seconds: Vec<Option<f64>> = seconds.collect();
    verdict.note("recovery_seconds", json!(seconds)).promise(
        "loads work again within 10 s of the end",
        recoveries
            .iter()
            .all(|it| it.is_some_and(|it| it <= MAX_RECOVERY)),
    );
}

struct PartitionRun<'a> {
    relays: &'a [SilentRelay],
    interruptions: &'a Interruptions,
    callers: &'a Callers,
}

impl PartitionRun<'_> {
    /// Every round; returns how long loads took to work again after each.
    async fn rounds(
        &self,
        processes: &mut [Process],
        options: &InterruptionOptions,
    ) -> Result<Vec<Option<Duration>>> {
        let mut recoveries = Vec::new();
        tokio::time::sleep(WARM_UP).await;
        for round in 0..options.rounds {
            let places = interruption::places(processes, round + 1 == options.rounds);
            let place = rand::random_range(places);
            let length = options.length();
            recoveries.push(self.round(processes, place, round, length).await?);
            tokio::time::sleep(PAUSE_BETWEEN_ROUNDS).await;
        }
        Ok(recoveries)
    }

    async fn round(
        &self,
        processes: &mut [Process],
        place: usize,
        round: usize,
        length: Duration,
    ) -> Result<Option<Duration>> {
        let process = processes.get_mut(place).zip(self.relays.get(place));
        let (process, relay) = process.ok_or_else(|| Failure::new("there is no such process"))?;
        let turn = (round + 2) % DIRECTIONS.len();
        let direction = DIRECTIONS.get(turn).copied().unwrap_or(Direction::Both);
        let target = Some(place).filter(|place| *place < self.callers.targets.len());
        let pid = process.pid().unwrap_or_default();
        say(format!(
            "{} and PostgreSQL: silence ({}) for {:.0} s",
            process.name(),
            direction.name(),
            length.as_secs_f64()
        ));
        self.interruptions.begin(pid, target);
        relay.silence(direction);
        tokio::time::sleep(length).await;
        let aftermath = if round.is_multiple_of(2) {
            Aftermath::Forgotten
        } else {
            Aftermath::Resumed
        };
        relay.restore(aftermath);
        self.interruptions.end(End::Continued);
        if !process.is_running() {
            let words = process.last_words();
            return Err(Failure::new(format!("longshored has ended\n{words}")));
        }
        Ok(self.recovered(target).await)
    }

    /// How long it takes until a load is accepted, by the process that was cut off if it serves.
    async fn recovered(&self, target: Option<usize>) -> Option<Duration> {
        let begun = Instant::now();
        let place = target.unwrap_or_default();
        let mut number = u64::MAX / 2;
        while begun.elapsed() < MAX_RECOVERY_WATCHED {
            number += 1;
            let load = traffic::load_once(self.callers, place, number);
            // A load that hangs must not hide that the next one works.
            if tokio::time::timeout(MAX_LOAD_TIME, load).await == Ok(true) {
                return Some(begun.elapsed());
            }
            tokio::time::sleep(RECOVERY_POLL_INTERVAL).await;
        }
        None
    }
}
