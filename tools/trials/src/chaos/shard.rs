//! Three servers, each stopped in turn: only its own organizations may notice.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::chaos::scene::{Callers, Scene, Servers};
use crate::chaos::settle;
use crate::chaos::traffic;
use crate::chaos::weather::Weather;
use crate::chaos::witness::{self, Testimony};
use crate::failure::Result;
use crate::figures;
use crate::http::Answer;
use crate::ledger;
use crate::options::{Common, ShardOptions};
use crate::postgres::Postgres;
use crate::process::Process;
use crate::progress::say;
use crate::request;
use crate::verdict::Verdict;

const SETTLING: Duration = Duration::from_secs(90);
const BEFORE: Duration = Duration::from_secs(3);
const BETWEEN: Duration = Duration::from_secs(10);
/// `/ready` must know of an outage by then.
const LATEST_NOTICE: Duration = Duration::from_secs(5);

/// What callers were told, by where their data lies.
#[derive(Debug, Default)]
struct Told {
    weather: Weather,
    requests: Mutex<Requests>,
    /// The last cargo of each organization, to ask about.
    latest: Mutex<BTreeMap<usize, u128>>,
}

#[derive(Debug, Default)]
struct Requests {
    served: u64,
    /// 503 with `Retry-After` for what lies on the missing server.
    refused: u64,
    /// Anything else.
    failed: BTreeMap<String, u64>,
    /// Milliseconds of those served while another server was away.
    elsewhere: Vec<f64>,
}

pub async fn run(common: &Common, options: &ShardOptions) -> Result<Verdict> {
    let mut scene = Scene::build(common, Servers::OneEach).await?;
    let told = Arc::new(Told::default());
    acquaint(&scene.callers).await;
    let addresses: Vec<SocketAddr> = scene.processes.iter().map(Process::address).collect();
    let away = Duration::from_secs(options.seconds);
    let (over, enough) = oneshot::channel::<()>();
    let loading = traffic::offer(options.rate, async { drop(enough.await) }, |number| {
        let (callers, told) = (Arc::clone(&scene.callers), Arc::clone(&told));
        async move { call(&callers, &told, number).await }
    });
    let storm = async {
        let testimonies = outages(&mut scene.postgres, &addresses, &told.weather, away).await;
        drop(over);
        testimonies
    };
    let (offered, testimonies) = tokio::join!(loading, storm);
    let testimonies = testimonies?;
    say("settling");
    let settled = settle::settle(&scene, SETTLING).await?;

    let mut verdict = Verdict::new("chaos shard");
    settled.judge(&scene.callers, &mut verdict);
    verdict.note("offered", offered);
    judge(&mut verdict, &told, &testimonies);
    Ok(verdict)
}

fn judge(verdict: &mut Verdict, told: &Told, testimonies: &BTreeMap<String, Testimony>) {
    let mut requests = told.requests.lock().unwrap_or_else(PoisonError::into_inner);
    let seconds = |noticed: Duration| figures::rounded(noticed.as_secs_f64(), 1);
    let ready: BTreeMap<&String, Value> = testimonies
        .iter()
        .map(|(server, said)| {
            let noticed = said.noticed.map(seconds);
            let first_wrong = said.wrong.first();
            let figures = json!({"probes": said.probes, "noticed_after_seconds": noticed,
                "wrong": said.wrong.len(), "first_wrong": first_wrong});
            (server, figures)
        })
        .collect();
    let failed: u64 = requests.failed.values().sum();
    let elsewhere = figures::spread(&mut requests.elsewhere);
    verdict
        .note("served", requests.served)
        .note("refused_by_the_missing", requests.refused)
        .note("failed", failed)
        .note("failed_by", json!(requests.failed))
        .note("elsewhere_milliseconds", elsewhere)
        .note("ready", json!(ready))
        .promise("no failed request elsewhere", failed == 0)
        .promise(
            "the missing shard refuses with Retry-After",
            requests.refused > 0,
        );
    for (server, said) in testimonies {
        let in_time = said.noticed.is_some_and(|noticed| noticed <= LATEST_NOTICE);
        verdict.promise(
            format!("/ready names {server}"),
            in_time && said.wrong.is_empty(),
        );
    }
}

async fn outages(
    servers: &mut [Postgres],
    addresses: &[SocketAddr],
    weather: &Weather,
    away: Duration,
) -> Result<BTreeMap<String, Testimony>> {
    let mut testimonies = BTreeMap::new();
    tokio::time::sleep(BEFORE).await;
    for server in servers.iter_mut().rev() {
        let name = server.name().to_owned();
        say(format!("{name} goes away"));
        weather.gone(&name);
        server.crash().await?;
        testimonies.insert(name.clone(), witness::watch(addresses, &name, away).await);
        server.start().await?;
        weather.back();
        say(format!("{name} is back"));
        tokio::time::sleep(BETWEEN).await;
    }
    Ok(testimonies)
}

/// Both processes know every key before control goes away.
async fn acquaint(callers: &Callers) {
    for target in &callers.targets {
        for organization in &callers.organizations {
            let asked = request::get(&request::tracking(0), organization);
            // The answer is 404 for all; that it was asked is enough.
            let _ = target.send(asked.as_bytes()).await;
        }
    }
}

/// One load, and every fourth time a look at an earlier one.
async fn call(callers: &Callers, told: &Told, number: u64) {
    let which = traffic::organization(callers, number);
    let Some(organization) = callers.organizations.get(which) else {
        return;
    };
    let mut asked = String::new();
    callers.loads.write(&mut asked, organization, number);
    if let Some(answer) = ask(callers, told, which, &asked).await
        && let Some(cargo) = answer.cargo()
    {
        callers.ledger.acknowledge(cargo, which);
        told.latest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(which, cargo);
    }
    let latest = told
        .latest
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get(&which)
        .copied();
    if let (0, Some(cargo)) = (number % 4, latest) {
        let asked = request::get(&request::tracking(cargo), organization);
        ask(callers, told, which, &asked).await;
    }
}

/// One request and what may be said about its answer; returns it when it was a success.
async fn ask(callers: &Callers, told: &Told, which: usize, asked: &str) -> Option<Answer> {
    let organization = callers.organizations.get(which)?;
    let target = callers
        .targets
        .get(rand::random_range(0..callers.targets.len()))?;
    let began = Instant::now();
    let answered = target.send(asked.as_bytes()).await;
    let excused = told.weather.excuses(&organization.shard, began);
    let mut requests = told.requests.lock().unwrap_or_else(PoisonError::into_inner);
    let reason = match answered {
        Ok(answer) if answer.is_success() => {
            requests.served += 1;
            if told.weather.is_stormy() && !excused {
                requests
                    .elsewhere
                    .push(figures::milliseconds(began.elapsed()));
            }
            return Some(answer);
        }
        Ok(answer) if excused && answer.status == 503 && answer.retry_after.is_some() => {
            requests.refused += 1;
            return None;
        }
        Ok(answer) => format!(
            "{} {}",
            answer.status,
            String::from_utf8_lossy(&answer.body)
        ),
        Err(error) => ledger::reason(&error),
    };
    let place = if excused { "missing" } else { "elsewhere" };
    *requests
        .failed
        .entry(format!("{place}: {reason}"))
        .or_default() += 1;
    None
}
