//! From load to delivered callback, sustained.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::bench::account::{Parties, Used};
use crate::bench::closed::{self, Loader, Round};
use crate::catalogue::{FREE, PRICED};
use crate::failure::Result;
use crate::figures::{number, rounded, spread};
use crate::options::{Common, JourneyOptions};
use crate::progress::say;
use crate::receiver::{Receipts, Receiver};
use crate::request::Loads;
use crate::setup;
use crate::stand::{BENCH_MEMORY, SHARD, Stand};
use crate::verdict::Verdict;

const LEAST_RATE: f64 = 2500.0;
const MOST_CPU: f64 = 0.7;
const MOST_WAL: f64 = 6000.0;
/// Until loading and delivering are in balance.
const WARMING: Duration = Duration::from_secs(5);
const SETTLING: Duration = Duration::from_mins(1);

/// What was seen between two readings.
#[derive(Debug)]
struct Window {
    used: Used,
    delivered: f64,
    wal: f64,
}

pub async fn run(common: &Common, options: &JourneyOptions) -> Result<Verdict> {
    let stand = Stand::build(common, BENCH_MEMORY).await?;
    say(format!("making {} organizations", options.organizations));
    let organizations =
        setup::organizations(&stand.longshored, &[SHARD], options.organizations).await?;
    let receiver = Receiver::start(Duration::ZERO).await?;
    let mut process = stand.longshored.process("all", "all")?;
    process.start()?;
    process.ready().await?;
    let model = if options.priced { PRICED } else { FREE };
    let loads = Loads::new(&receiver.url(), &[model]);
    let mut loader = Loader::new(process.address(), organizations, loads);
    loader.bound = Some((options.in_flight, Arc::clone(&receiver.receipts)));
    let loader = Arc::new(loader);
    let parties = Parties {
        longshored: process.pid(),
        postgres: stand.postgres.pid(),
        redis: stand.redis.pid(),
    };
    let length = Duration::from_secs(options.seconds);
    say(format!("loading for {} s", options.seconds));
    let loading = closed::run(&loader, options.connections, WARMING + length + WARMING);
    let (round, window) = tokio::join!(
        loading,
        observe(&stand, parties, &receiver.receipts, length)
    );
    let (round, window) = (round?, window?);
    let accepted = loader.accepted.load(Ordering::Relaxed);
    let left = settled(&receiver.receipts, accepted).await;
    Ok(judged(
        &stand,
        options,
        &window,
        round,
        (&receiver.receipts, left),
    ))
}

/// Reads the meters at both ends of the window; loading goes on beyond both.
async fn observe(
    stand: &Stand,
    parties: Parties,
    receipts: &Receipts,
    length: Duration,
) -> Result<Window> {
    tokio::time::sleep(WARMING).await;
    let (before, delivered, wal) = (
        parties.read()?,
        receipts.cargo(),
        stand.postgres.wal().await?,
    );
    tokio::time::sleep(length).await;
    let used = before.until(parties.read()?);
    let delivered = receipts.cargo() - delivered;
    let wal = stand.postgres.wal().await? - wal;
    let count = |count: u64| number(usize::try_from(count).unwrap_or_default());
    Ok(Window {
        used,
        delivered: count(delivered),
        wal: count(u64::try_from(wal).unwrap_or_default()),
    })
}

/// Waits for what is under way; says how much never came.
async fn settled(receipts: &Receipts, accepted: u64) -> u64 {
    let begun = Instant::now();
    while receipts.cargo() < accepted && begun.elapsed() < SETTLING {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    accepted.saturating_sub(receipts.cargo())
}

fn judged(
    stand: &Stand,
    options: &JourneyOptions,
    window: &Window,
    mut round: Round,
    (receipts, lost): (&Receipts, u64),
) -> Verdict {
    let rate = window.delivered / window.used.seconds;
    let cpu = (window.used.longshored + window.used.postgres) * 1000.0 / window.delivered.max(1.0);
    let wal = window.wal / window.delivered.max(1.0);
    let failed: u64 = round.failures.values().sum();
    let mut verdict = Verdict::new("bench journey");
    verdict
        .note("cargo_per_second", rounded(rate, 0))
        .note("cpu_seconds_per_thousand", rounded(cpu, 3))
        .note("cpu_by_process", window.used.per_thousand(window.delivered))
        .note("wal_bytes_per_cargo", rounded(wal, 0))
        .note("cpu_shares", window.used.shares())
        .note("load_milliseconds", spread(&mut round.milliseconds))
        .note("delivered", window.delivered)
        .note("duplicates", receipts.duplicates())
        .note("lost", lost)
        .note("failed", json!(round.failures))
        .note("seconds", options.seconds)
        .note("connections", options.connections)
        .note("organizations", options.organizations)
        .note("in_flight", options.in_flight)
        .note("priced", options.priced)
        .note("settings", stand.postgres.settings())
        .promise("no failed load", failed == 0)
        .promise("none lost", lost == 0)
        .promise("no duplicate callback", receipts.duplicates() == 0)
        .promise("at least 2,500 a second", rate >= LEAST_RATE)
        .promise("at most 0.7 CPU-seconds per thousand", cpu <= MOST_CPU)
        .promise("at most 6,000 bytes of log each", wal <= MOST_WAL);
    verdict
}
