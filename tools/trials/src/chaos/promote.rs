//! The primary dies under load and its synchronous standby is promoted at once.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::chaos::scene::{CONTROL, Deployment, SHARD, Scene, Servers, Storage};
use crate::chaos::settle;
use crate::chaos::traffic;
use crate::failure::{Failure, Result};
use crate::figures;
use crate::options::{Common, Hosts, PromoteOptions};
use crate::postgres::Postgres;
use crate::process::Databases;
use crate::progress::say;
use crate::scratch::Scratch;
use crate::silent_relay::SilentRelay;
use crate::verdict::Verdict;

const MAX_SETTLING: Duration = Duration::from_secs(90);
/// Loads go on before each death, and after each promotion.
const WARM_UP: Duration = Duration::from_secs(4);
const PAUSE_AFTER_PROMOTION: Duration = Duration::from_secs(2);
/// Commits wait for the standby for up to so long before the primary dies.
const MAX_UNREPLICATED_MILLISECONDS: u64 = 500;
/// In some rounds callers reach the standby for so long before it is promoted.
const MAX_READ_ONLY_MILLISECONDS: u64 = 1000;

pub async fn run(common: &Common, options: &PromoteOptions) -> Result<Verdict> {
    let mut storage = Storage::create(Servers::OneShard).await?;
    let primary = primary(&storage.postgres)?;
    let relay = SilentRelay::start(primary.address()).await?;
    let spare = crate::port::free()?.port();
    let standby = Postgres::standby_of(primary, &storage.scratch, "standby-0", spare).await?;
    primary.commit_synchronously().await?;
    // The trial itself always follows the primary through the relay.
    storage.shards = vec![(SHARD.to_owned(), primary.pool_at(relay.address, SHARD))];
    storage.databases = match options.hosts {
        Hosts::Relay => databases_at(&relay.address.to_string()),
        Hosts::List => databases_at(&format!("{},{}", primary.address(), standby.address())),
    };
    storage.postgres.push(standby);
    let mut scene = Scene::with(common, storage, Deployment::two_serve_three_work()).await?;
    let callers = Arc::clone(&scene.callers);

    let load = traffic::anywhere(&callers);
    let rounds = promotions(&mut scene.postgres, &scene.scratch, &relay, options.rounds);
    let (offered, promoted) = traffic::offer_during(options.rate, load, rounds).await;
    let mut seconds = promoted?;
    for process in &mut scene.processes {
        if !process.is_running() {
            let words = process.last_words();
            return Err(Failure::new(format!(
                "{} has ended\n{words}",
                process.name()
            )));
        }
    }
    say(format!("{} promotions; settling", seconds.len()));
    let settled = settle::settle_tracking(&scene, MAX_SETTLING, usize::MAX).await?;

    let mut verdict = Verdict::new("chaos promote");
    settled.judge(&callers, &mut verdict);
    let answers = callers.ledger.failures();
    let others = answers.as_object().map(|answers| {
        let others = answers.keys().filter(|answer| answer.as_str() != "503");
        others.cloned().collect::<Vec<_>>()
    });
    let others = others.unwrap_or_default();
    verdict
        .note("offered", offered.loads)
        .note(
            "offered_per_second",
            figures::rounded(offered.per_second, 1),
        )
        .note("promotions", seconds.len())
        .note("promotion_seconds", figures::spread(&mut seconds))
        .note("hosts", options.hosts.name())
        .note("answers_besides_202_and_503", json!(others))
        .promise("a primary died", !seconds.is_empty())
        .promise("every load is answered 202 or 503", others.is_empty())
        .promise(
            "loads are offered at the rate",
            offered.per_second >= f64::from(options.rate) * 0.99,
        );
    Ok(verdict)
}

fn primary(servers: &[Postgres]) -> Result<&Postgres> {
    let primary = servers.first();
    primary.ok_or_else(|| Failure::new("there is no server"))
}

/// Both databases of the trial, at one host or several.
fn databases_at(hosts: &str) -> Databases {
    let url = |name: &str| format!("postgres://postgres@{hosts}/{name}");
    Databases {
        control: url(CONTROL),
        shards: vec![(SHARD.to_owned(), url(SHARD))],
    }
}

/// The first server is the primary, the second its standby. Returns how long each promotion
/// took from the death of the primary, in seconds.
async fn promotions(
    servers: &mut Vec<Postgres>,
    scratch: &Scratch,
    relay: &SilentRelay,
    rounds: usize,
) -> Result<Vec<f64>> {
    let mut seconds = Vec::new();
    for round in 1..=rounds {
        tokio::time::sleep(WARM_UP).await;
        seconds.push(promotion(servers, relay, round).await?);
        tokio::time::sleep(PAUSE_AFTER_PROMOTION).await;
        if round < rounds {
            let (name, port) = (format!("standby-{round}"), spare_port(servers)?);
            let next = Postgres::standby_of(primary(servers)?, scratch, &name, port).await?;
            servers.truncate(1);
            servers.push(next);
            primary(servers)?.commit_synchronously().await?;
        }
    }
    Ok(seconds)
}

/// The port of the dead primary, so that a list of hosts stays true.
fn spare_port(servers: &[Postgres]) -> Result<u16> {
    let dead = servers.get(1);
    let dead = dead.ok_or_else(|| Failure::new("there is no dead primary"))?;
    dead.remove_data()?;
    Ok(dead.port())
}

async fn promotion(servers: &mut [Postgres], relay: &SilentRelay, round: usize) -> Result<f64> {
    let [primary, standby] = servers else {
        return Err(Failure::new("there is no pair of servers"));
    };
    // In every other round commits are on their way to the standby when the primary dies.
    if round % 2 == 1 {
        primary.stop_replication().await?;
        wait_up_to(MAX_UNREPLICATED_MILLISECONDS).await;
    }
    say(format!("{} dies", primary.name()));
    primary.kill_all()?;
    let dead_since = std::time::Instant::now();
    relay.redirect(standby.address());
    if round.is_multiple_of(3) {
        wait_up_to(MAX_READ_ONLY_MILLISECONDS).await;
    }
    standby.promote().await?;
    let taken = dead_since.elapsed().as_secs_f64();
    say(format!(
        "{} is the primary after {taken:.1} s",
        standby.name()
    ));
    servers.reverse();
    Ok(taken)
}

async fn wait_up_to(milliseconds: u64) {
    let pause = rand::random_range(0..=milliseconds);
    tokio::time::sleep(Duration::from_millis(pause)).await;
}
