//! Metrics for Prometheus, on a listener of their own that callers never see.

use std::time::Duration;

use axum::Router;
use axum::routing::get;
use metrics::{Unit, describe_counter, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use tokio_util::sync::CancellationToken;

use crate::wiring::Clocks;

/// Seconds: from a quick commit to a callback that takes all its time.
const SECONDS: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];
/// Counts of things that go together.
const SIZES: [f64; 10] = [1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0];

/// How often histograms are folded, so that their memory stays bounded between scrapes.
const UPKEEP: Duration = Duration::from_secs(5);

/// From here on what is counted is kept.
pub fn install() -> Result<PrometheusHandle, BuildError> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)?
        .set_buckets_for_metric(Matcher::Suffix("_size".to_owned()), &SIZES)?
        .install_recorder()?;
    describe();
    Ok(handle)
}

pub fn router(handle: PrometheusHandle) -> Router {
    let page = move || {
        let handle = handle.clone();
        async move {
            (
                [("content-type", "text/plain; version=0.0.4; charset=utf-8")],
                handle.render(),
            )
        }
    };
    // `longshored work` has no other listener that a supervisor could probe.
    Router::new()
        .route("/metrics", get(page))
        .route("/health", get(|| async { "ok" }))
}

/// Keeps histograms small and clocks in sight.
pub async fn upkeep(handle: PrometheusHandle, clocks: Clocks, stop: CancellationToken) {
    let mut beat = tokio::time::interval(UPKEEP);
    loop {
        tokio::select! {
            _ = beat.tick() => {
                handle.run_upkeep();
                for (database, clock) in &clocks {
                    gauge!("clock_offset_seconds", "database" => database.clone())
                        .set(clock.offset_seconds());
                }
            }
            () = stop.cancelled() => return,
        }
    }
}

fn describe() {
    describe_counter!("cargo_loaded_total", Unit::Count, "Cargo accepted.");
    describe_histogram!(
        "load_group_size",
        Unit::Count,
        "Loads written in one transaction."
    );
    let unknown = "Commits whose end was unknown and had to be asked for.";
    describe_counter!("load_unknown_commits_total", Unit::Count, unknown);
    let refused = "Loads that were refused with 503 because too many were waiting.";
    describe_counter!("loads_overload_refused_total", Unit::Count, refused);
    describe_counter!("http_requests_total", Unit::Count, "Requests answered.");
    let shed = "Idle or half-open connections that were closed to make room for others.";
    describe_counter!("http_connections_shed_total", Unit::Count, shed);
    let refused = "Connections that were refused because all others were busy.";
    describe_counter!("http_connections_refused_total", Unit::Count, refused);
    let late = "Connections closed after a timeout: idle, too slow to send a head or to read.";
    describe_counter!("http_connections_timed_out_total", Unit::Count, late);
    let late = "Requests whose body took too long to arrive (408).";
    describe_counter!("http_bodies_timed_out_total", Unit::Count, late);
    let over = "Requests refused because too many bytes were being received (503).";
    describe_counter!("http_bodies_over_budget_total", Unit::Count, over);
    describe_histogram!(
        "http_request_seconds",
        Unit::Seconds,
        "Time to answer a request."
    );

    describe_counter!(
        "limiter_asks_total",
        Unit::Count,
        "Tokens and windows asked for, by kind."
    );
    describe_counter!(
        "limiter_calls_total",
        Unit::Count,
        "Calls to Redis; one is for all asks that wait."
    );
    let fallback = "Asks that this process answered by itself because Redis was away.";
    describe_counter!("limiter_fallback_total", Unit::Count, fallback);
    let open = "1 while Redis is away and this process limits by itself.";
    describe_gauge!("limiter_breaker_open", Unit::Count, open);
    let nodes = "Processes that serve, as this one counts them.";
    describe_gauge!("limiter_nodes", Unit::Count, nodes);
    describe_histogram!(
        "limiter_call_seconds",
        Unit::Seconds,
        "Time that a call to Redis took."
    );

    let oldest = "Age of what has waited longest for a stage; 0 when nothing waits.";
    describe_gauge!("stage_oldest_waiting_seconds", Unit::Seconds, oldest);
    describe_counter!("stage_items_total", Unit::Count, "What a stage has done.");
    describe_counter!(
        "stage_failures_total",
        Unit::Count,
        "Steps that failed and are repeated."
    );
    let sweep = "Parts of sweep that failed and are repeated, by part.";
    describe_counter!("sweep_failures_total", Unit::Count, sweep);
    let days = "Days after today that have partitions; -1 when today has none. Alert below 5.";
    describe_gauge!("partition_days_ahead", Unit::Count, days);
    describe_histogram!("batch_size", Unit::Count, "Cargo per batch.");
    let unmatched = "Results of a provider that belong to no open cargo of their batch.";
    describe_counter!("collect_unmatched_results_total", Unit::Count, unmatched);
    let aside = "Outcomes that became failures because they could not be processed, by reason.";
    describe_counter!("outcomes_set_aside_total", Unit::Count, aside);
    let orphaned = "Jobs that a provider created after this process had lost its claim.";
    describe_counter!("submissions_orphaned_total", Unit::Count, orphaned);
    let open = "1 while a provider account is not called because it keeps failing.";
    describe_gauge!("circuit_breaker_open", Unit::Count, open);
    describe_callbacks();

    let faults = "What does not hold in the ledger; 0 also where another node looks.";
    describe_gauge!("ledger_faults", Unit::Count, faults);
    let checked = "When this node last proved the ledger, in seconds since 1970.";
    describe_gauge!("ledger_checked_timestamp_seconds", Unit::Seconds, checked);

    describe_files();

    let offset = "How far a database's clock is ahead of this host's.";
    describe_gauge!("clock_offset_seconds", Unit::Seconds, offset);
}

fn describe_callbacks() {
    describe_counter!(
        "callback_attempts_total",
        Unit::Count,
        "Callback attempts, by outcome."
    );
    describe_histogram!(
        "callback_seconds",
        Unit::Seconds,
        "Time that a callback took."
    );
    let waited = "Time from when a callback was due until it was sent, by class of its host.";
    describe_histogram!("callback_wait_seconds", Unit::Seconds, waited);
    let slots = "Callbacks in flight, by class of their host: quick, unknown, slow, failing.";
    describe_gauge!("callback_slots_in_use", Unit::Count, slots);
    let aside = "Callback attempts that could not be made or recorded as they were, by reason.";
    describe_counter!("callback_set_aside_total", Unit::Count, aside);
    let lost = "Callback attempts left to another worker because this one lost its lease.";
    describe_counter!("callback_claims_lost_total", Unit::Count, lost);
}

fn describe_files() {
    let held =
        "1 while no bytes are removed because the database was restored, promoted or copied.";
    describe_gauge!("patrol_held", Unit::Count, held);
    let well = "1 while the object store or the scanner passes every probe.";
    describe_gauge!("files_dependency_well", Unit::Count, well);
    describe_counter!(
        "files_ready_total",
        Unit::Count,
        "Uploads that became ready."
    );
    describe_counter!(
        "files_failed_total",
        Unit::Count,
        "Uploads that failed, by reason."
    );
    describe_counter!("scan_bytes_total", Unit::Bytes, "Bytes that were verified.");
    describe_histogram!(
        "scan_seconds",
        Unit::Seconds,
        "Time that one look at a file took."
    );
    let removed = "What nobody wanted in the object store, by what it was.";
    describe_counter!("patrol_removed_total", Unit::Count, removed);
    let missing = "Ready files whose bytes are not in the object store: look at once.";
    describe_counter!("patrol_missing_total", Unit::Count, missing);
}
