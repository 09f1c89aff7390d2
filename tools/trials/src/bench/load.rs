//! Loads accepted per second, beside bare inserts on the same server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::account::Parties;
use crate::bench::closed::{self, Loader};
use crate::bench::pgbench::Bare;
use crate::bench::stand::{SHARD, Stand};
use crate::failure::{During as _, Failure, Result};
use crate::figures::{median, rounded, spread};
use crate::options::{Common, LoadOptions};
use crate::process::Process;
use crate::progress::say;
use crate::receiver::Receiver;
use crate::request::{BODY, Loads};
use crate::setup;
use crate::verdict::Verdict;

const LEAST_RATIO: f64 = 0.5;
const CLIENTS: [u32; 2] = [16, 64];
const WARMING: Duration = Duration::from_secs(3);

/// Figures of all rounds.
#[derive(Debug, Default)]
struct Rounds {
    ours: Vec<f64>,
    bare: Vec<f64>,
    ratios: Vec<f64>,
    milliseconds: Vec<f64>,
    failures: BTreeMap<String, u64>,
    shares: Vec<Value>,
}

pub async fn run(common: &Common, options: &LoadOptions) -> Result<Verdict> {
    let stand = Stand::build(common).await?;
    say(format!("making {} organizations", options.organizations));
    let organizations =
        setup::organizations(&stand.longshored, &[SHARD], options.organizations).await?;
    let mut process = stand.longshored.process("serve", "serve")?;
    process.start()?;
    process.ready().await?;
    // Nothing is delivered here, but the load must name a receiver that could be.
    let receiver = Receiver::start(Duration::ZERO).await?;
    let loader = Arc::new(Loader {
        address: process.address(),
        organizations,
        loads: Loads::new(&receiver.url()),
        next: AtomicU64::new(0),
        accepted: AtomicU64::new(0),
        bound: None,
    });
    closed::run(&loader, options.connections, WARMING).await?;
    let body = stored_body(&stand).await?;
    let mut bare = Bare::create(&stand.postgres, &stand.scratch).await?;
    let mut rounds = Rounds::default();
    for number in 1..=options.rounds {
        round(
            &stand,
            &process,
            &loader,
            &mut bare,
            (options, body),
            &mut rounds,
        )
        .await?;
        if let (Some(ours), Some(bare)) = (rounds.ours.last(), rounds.bare.last()) {
            say(format!(
                "round {number}: {ours:.0} loads/s, {bare:.0} bare inserts/s"
            ));
        }
    }
    Ok(judged(&stand, options, body, rounds))
}

async fn round(
    stand: &Stand,
    process: &Process,
    loader: &Arc<Loader>,
    bare: &mut Bare,
    (options, body): (&LoadOptions, usize),
    rounds: &mut Rounds,
) -> Result<()> {
    let parties = Parties {
        longshored: process.pid(),
        postgres: stand.postgres.pid(),
    };
    stand.postgres.checkpoint().await?;
    let before = parties.read()?;
    let length = Duration::from_secs(options.seconds);
    let ours_seen = closed::run(loader, options.connections, length).await?;
    let ours = before.until(parties.read()?);

    let mut best = (0, 0.0, Value::Null);
    for clients in CLIENTS {
        stand.postgres.checkpoint().await?;
        let before = parties.read()?;
        let rate = bare
            .run(&stand.postgres, clients, options.seconds, body)
            .await?;
        if rate > best.1 {
            best = (clients, rate, before.until(parties.read()?).shares());
        }
    }
    let (clients, rate, shares) = best;
    rounds.ours.push(ours_seen.rate());
    rounds.bare.push(rate);
    rounds.ratios.push(ours_seen.rate() / rate.max(1.0));
    rounds.milliseconds.extend(ours_seen.milliseconds);
    for (reason, count) in ours_seen.failures {
        *rounds.failures.entry(reason).or_default() += count;
    }
    rounds
        .shares
        .push(json!({"ours": ours.shares(), "bare": shares, "bare_clients": clients}));
    Ok(())
}

/// How large a body is once stored: the bare row gets one of the same size.
async fn stored_body(stand: &Stand) -> Result<usize> {
    let mut connection = stand.postgres.connect(SHARD).await?;
    let query = "select avg(length(body))::bigint from shard.request";
    let size: Option<i64> = sqlx::query_scalar(query)
        .fetch_one(&mut connection)
        .await
        .during("sizing bodies")?;
    let size = size.and_then(|size| usize::try_from(size).ok());
    size.ok_or_else(|| Failure::new("nothing was loaded while warming up"))
}

fn judged(stand: &Stand, options: &LoadOptions, body: usize, mut rounds: Rounds) -> Verdict {
    let per_round = |values: &[f64], digits| -> Vec<f64> {
        values.iter().map(|value| rounded(*value, digits)).collect()
    };
    let (ours, bare, ratios) = (
        per_round(&rounds.ours, 0),
        per_round(&rounds.bare, 0),
        per_round(&rounds.ratios, 3),
    );
    let ratio = median(&mut rounds.ratios).unwrap_or_default();
    let failed: u64 = rounds.failures.values().sum();
    let mut verdict = Verdict::new("bench load");
    verdict
        .note("ratio", rounded(ratio, 3))
        .note(
            "loads_per_second",
            median(&mut rounds.ours).map(|rate| rounded(rate, 0)),
        )
        .note(
            "bare_inserts_per_second",
            median(&mut rounds.bare).map(|rate| rounded(rate, 0)),
        )
        .note("milliseconds", spread(&mut rounds.milliseconds))
        .note("ratios", ratios)
        .note("loads_by_round", ours)
        .note("bare_by_round", bare)
        .note("cpu_shares_by_round", rounds.shares)
        .note("failed", json!(rounds.failures))
        .note("connections", options.connections)
        .note("organizations", options.organizations)
        .note("seconds", options.seconds)
        .note("request_bytes", BODY)
        .note("stored_bytes", body)
        .note("settings", stand.postgres.settings())
        .promise("no failed load", failed == 0)
        .promise(
            "at least half of what bare inserts do",
            ratio >= LEAST_RATIO,
        );
    verdict
}
