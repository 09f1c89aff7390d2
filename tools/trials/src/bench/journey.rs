//! From load to delivered callback, at a sustained rate.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::callbacks::callback_sink::{CallbackSink, SinkOptions};
use crate::harness::callbacks::receipts::CallbackReceipts;
use crate::harness::environment::base_environment::BaseEnvironment;
use crate::harness::environment::databases::{BENCH_MEMORY, DatabaseLayout};
use crate::harness::failure::Result;
use crate::harness::http::load_request::LoadRequests;
use crate::harness::load::closed_loop::{self, ClosedLoopLoader, LoadRound};
use crate::harness::longshored::catalogue::{FREE_MODEL, PRICED_MODEL};
use crate::harness::measurement::cpu_usage::{CpuUsage, MeasuredProcesses};
use crate::harness::measurement::statistics::{round_to, summarize, to_f64};
use crate::harness::polling::PollLimits;
use crate::harness::progress::report_progress;
use crate::harness::servers::postgres::TrialPostgresServer;
use crate::harness::verdict::TrialVerdict;
use crate::options::{BenchJourneyOptions, CommonOptions};

const MIN_CARGO_PER_SECOND: f64 = 2500.0;
const MAX_CPU_SECONDS_PER_THOUSAND: f64 = 0.7;
const MAX_WAL_BYTES_PER_CARGO: f64 = 6000.0;
/// Until loading and delivering are in balance; at most as long as the measured window.
const WARM_UP: Duration = Duration::from_secs(5);
const SETTLE_TIMEOUT: Duration = Duration::from_mins(1);

/// The figures between two readings.
#[derive(Debug)]
struct JourneyWindow {
    cpu: CpuUsage,
    delivered: f64,
    wal: f64,
}

pub async fn run(common: &CommonOptions, options: &BenchJourneyOptions) -> Result<TrialVerdict> {
    let environment =
        BaseEnvironment::build(common, DatabaseLayout::SingleShard, BENCH_MEMORY).await?;
    let organizations = environment
        .create_organizations(options.organizations)
        .await?;
    let receiver = CallbackSink::start(SinkOptions::default()).await?;
    let mut process = environment.longshored.new_process("all", "all")?;
    process.start()?;
    process.wait_until_ready().await?;
    let model = if options.priced {
        PRICED_MODEL
    } else {
        FREE_MODEL
    };
    let loads = LoadRequests::new(&receiver.url(), &[model]);
    let mut loader = ClosedLoopLoader::new(process.address(), organizations, loads);
    loader.in_flight_limit = Some((options.in_flight, Arc::clone(&receiver.receipts)));
    let loader = Arc::new(loader);
    let postgres = environment.database_server()?;
    let processes = MeasuredProcesses {
        longshored: process.child.pid(),
        postgres: postgres.child.pid(),
        redis: environment.redis.child.pid(),
    };
    let length = Duration::from_secs(options.seconds);
    report_progress(format!("loading for {} s", options.seconds));
    let warm_up = WARM_UP.min(length);
    let loading = closed_loop::run(&loader, options.connections, warm_up + length + warm_up);
    let (round, window) = tokio::join!(
        loading,
        measure_window(postgres, processes, &receiver.receipts, length)
    );
    let (round, window) = (round?, window?);
    let accepted = loader.accepted.load(Ordering::Relaxed);
    let left = wait_for_callbacks(&receiver.receipts, accepted).await;
    Ok(build_verdict(
        postgres.settings_to_json(),
        options,
        &window,
        round,
        (&receiver.receipts, left),
    ))
}

/// Reads CPU, callbacks and WAL at both ends of the window; loading runs before and after it.
async fn measure_window(
    postgres: &TrialPostgresServer,
    processes: MeasuredProcesses,
    receipts: &CallbackReceipts,
    length: Duration,
) -> Result<JourneyWindow> {
    tokio::time::sleep(WARM_UP.min(length)).await;
    let (before, delivered, wal) = (
        processes.read_cpu()?,
        receipts.count_cargo(),
        postgres.read_wal_bytes().await?,
    );
    tokio::time::sleep(length).await;
    let used = before.usage_until(processes.read_cpu()?);
    let delivered = receipts.count_cargo() - delivered;
    let wal = postgres.read_wal_bytes().await? - wal;
    let count = |count: u64| to_f64(usize::try_from(count).unwrap_or_default());
    Ok(JourneyWindow {
        cpu: used,
        delivered: count(delivered),
        wal: count(u64::try_from(wal).unwrap_or_default()),
    })
}

/// Waits for the callbacks in flight; returns how many never arrived.
async fn wait_for_callbacks(receipts: &CallbackReceipts, accepted: u64) -> u64 {
    let limits = PollLimits::new(SETTLE_TIMEOUT, Duration::from_millis(100));
    limits
        .wait_until(|| receipts.count_cargo() >= accepted)
        .await;
    accepted.saturating_sub(receipts.count_cargo())
}

fn build_verdict(
    settings: Value,
    options: &BenchJourneyOptions,
    window: &JourneyWindow,
    mut round: LoadRound,
    (receipts, lost): (&CallbackReceipts, u64),
) -> TrialVerdict {
    let rate = window.delivered / window.cpu.seconds;
    let cpu = (window.cpu.longshored + window.cpu.postgres) * 1000.0 / window.delivered.max(1.0);
    let wal = window.wal / window.delivered.max(1.0);
    let failed: u64 = round.failures.values().sum();
    let mut verdict = TrialVerdict::new("bench journey").judging_figures(!options.small);
    verdict
        .record("cargo_per_second", round_to(rate, 0))
        .record("cpu_seconds_per_thousand", round_to(cpu, 3))
        .record(
            "cpu_by_process",
            window.cpu.per_thousand_cargo(window.delivered),
        )
        .record("wal_bytes_per_cargo", round_to(wal, 0))
        .record("cpu_shares", window.cpu.machine_shares())
        .record("load_milliseconds", summarize(&mut round.milliseconds))
        .record("delivered", window.delivered)
        .record("duplicates", receipts.count_duplicates())
        .record("lost", lost)
        .record("failed", json!(round.failures))
        .record("seconds", options.seconds)
        .record("connections", options.connections)
        .record("organizations", options.organizations)
        .record("in_flight", options.in_flight)
        .record("priced", options.priced)
        .record("settings", settings)
        .check("no failed load", failed == 0)
        .check("no cargo is lost", lost == 0)
        .check("no duplicate callback", receipts.count_duplicates() == 0)
        .check_figure(
            "at least 2,500 cargo per second",
            rate >= MIN_CARGO_PER_SECOND,
        )
        .check_figure(
            "at most 0.7 CPU-seconds per thousand cargo",
            cpu <= MAX_CPU_SECONDS_PER_THOUSAND,
        )
        .check_figure(
            "at most 6,000 bytes of WAL per cargo",
            wal <= MAX_WAL_BYTES_PER_CARGO,
        );
    verdict
}
