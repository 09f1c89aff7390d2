//! One round: a new installation that is loaded for a while, and what it delivered.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value;

use crate::bench::journey::span_sink::SpanSink;
use crate::harness::callbacks::callback_sink::{CallbackSink, SinkOptions};
use crate::harness::callbacks::receipts::CallbackReceipts;
use crate::harness::environment::base_environment::BaseEnvironment;
use crate::harness::environment::databases::{BENCH_MEMORY, DatabaseLayout};
use crate::harness::failure::Result;
use crate::harness::http::load_request::LoadRequests;
use crate::harness::load::closed_loop::{self, ClosedLoopLoader, LoadRound};
use crate::harness::longshored::catalogue::{FREE_MODEL, PRICED_MODEL};
use crate::harness::measurement::cpu_usage::{CpuUsage, MeasuredProcesses};
use crate::harness::measurement::statistics::to_f64;
use crate::harness::polling::PollLimits;
use crate::harness::progress::report_progress;
use crate::harness::servers::postgres::TrialPostgresServer;
use crate::harness::verdict::TrialVerdict;
use crate::options::{BenchJourneyOptions, CommonOptions};

/// Until loading and delivering are in balance; at most as long as the measured window.
const WARM_UP: Duration = Duration::from_secs(5);
const SETTLE_TIMEOUT: Duration = Duration::from_mins(1);

/// What a round does besides the usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JourneyVariant<'a> {
    Plain,
    /// Encrypts at rest.
    Encrypted,
    /// Traces this share of the loads.
    Traced(&'a str),
}

/// The figures between two readings.
#[derive(Debug)]
pub struct JourneyWindow {
    pub cpu: CpuUsage,
    pub delivered: f64,
    wal: f64,
}

#[derive(Debug)]
pub struct JourneyRound {
    pub window: JourneyWindow,
    pub loads: LoadRound,
    pub duplicates: u64,
    pub lost: u64,
    /// The settings of PostgreSQL.
    pub settings: Value,
    /// Of the whole round, with its warm-up.
    pub spans: SpanFigures,
}

/// What was traced in a round.
#[derive(Debug, Clone, Copy, Default)]
pub struct SpanFigures {
    /// Spans and bytes that arrived at the collector.
    pub arrived: f64,
    pub bytes: f64,
    /// Spans that the service counted as dropped.
    pub dropped: f64,
    /// Cargo whose callbacks arrived.
    pub cargo: f64,
}

impl JourneyRound {
    pub async fn measure(
        common: &CommonOptions,
        options: &BenchJourneyOptions,
        variant: JourneyVariant<'_>,
    ) -> Result<Self> {
        let layout = DatabaseLayout::SingleShard;
        let mut environment = BaseEnvironment::build(common, layout, BENCH_MEMORY).await?;
        let sink = SpanSink::start().await?;
        match variant {
            JourneyVariant::Plain => {}
            JourneyVariant::Encrypted => environment.enable_encryption().await?,
            JourneyVariant::Traced(ratio) => {
                environment.longshored.set("TRACING_ENDPOINT", &sink.url());
                environment.longshored.set("TRACING_SAMPLE", ratio);
            }
        }
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
        let (loads, window) = tokio::join!(
            loading,
            measure_window(postgres, processes, &receiver.receipts, length)
        );
        let (loads, window) = (loads?, window?);
        let accepted = loader.accepted.load(Ordering::Relaxed);
        let lost = wait_for_callbacks(&receiver.receipts, accepted).await;
        let dropped = process.scrape_metrics().await?;
        let spans = SpanFigures {
            arrived: count(sink.count_spans()),
            bytes: count(sink.count_bytes()),
            dropped: dropped.sum("longshore_trace_spans_dropped_total"),
            cargo: count(receiver.receipts.count_cargo()),
        };
        Ok(Self {
            spans,
            window,
            loads,
            duplicates: receiver.receipts.count_duplicates(),
            lost,
            settings: postgres.settings_to_json(),
        })
    }

    pub fn cargo_per_second(&self) -> f64 {
        self.window.delivered / self.window.cpu.seconds
    }

    /// Of the service and PostgreSQL.
    pub fn cpu_seconds_per_thousand(&self) -> f64 {
        let cpu = self.window.cpu.longshored + self.window.cpu.postgres;
        cpu * 1000.0 / self.window.delivered.max(1.0)
    }

    pub fn wal_bytes_per_cargo(&self) -> f64 {
        self.window.wal / self.window.delivered.max(1.0)
    }

    /// What holds at any speed.
    pub fn check_promises(&self, verdict: &mut TrialVerdict) {
        closed_loop::judge_failures(verdict, &self.loads.failures);
        verdict
            .check("no cargo is lost", self.lost == 0)
            .check("no duplicate callback", self.duplicates == 0);
    }
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
    Ok(JourneyWindow {
        cpu: used,
        delivered: count(delivered),
        wal: count(u64::try_from(wal).unwrap_or_default()),
    })
}

fn count(count: u64) -> f64 {
    to_f64(usize::try_from(count).unwrap_or_default())
}

/// Waits for the callbacks in flight; returns how many never arrived.
async fn wait_for_callbacks(receipts: &CallbackReceipts, accepted: u64) -> u64 {
    let limits = PollLimits::new(SETTLE_TIMEOUT, Duration::from_millis(100));
    limits
        .wait_until(|| receipts.count_cargo() >= accepted)
        .await;
    accepted.saturating_sub(receipts.count_cargo())
}
