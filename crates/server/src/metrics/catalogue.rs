//! Every metric with its kind, unit and help text.

use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram};

use MetricKind::{Counter, Gauge, Histogram, LabelledCounter};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// It is there from the start, with 0.
    Counter,
    /// A counter with labels: a series appears with its first event.
    LabelledCounter,
    Gauge,
    Histogram,
}

/// In alphabetical order.
pub const METRICS: &[(&str, MetricKind, Unit, &str)] = &[
    (
        "longshore_batch_cargo",
        Histogram,
        Unit::Count,
        "Cargo per batch.",
    ),
    (
        "longshore_batch_results_repeated_total",
        Counter,
        Unit::Count,
        "Provider results that repeat one of the same batch.",
    ),
    (
        "longshore_batch_results_unmatched_total",
        Counter,
        Unit::Count,
        "Provider results that match no open cargo of their batch.",
    ),
    (
        "longshore_callback_attempt_errors_total",
        LabelledCounter,
        Unit::Count,
        "Callback attempts that could not be made or recorded, by reason.",
    ),
    (
        "longshore_callback_attempts_total",
        LabelledCounter,
        Unit::Count,
        "Callback attempts, by outcome.",
    ),
    (
        "longshore_callback_claims_lost_total",
        Counter,
        Unit::Count,
        "Callback attempts left to another worker because this one lost its lease.",
    ),
    (
        "longshore_callback_duration_seconds",
        Histogram,
        Unit::Seconds,
        "Duration of a callback attempt.",
    ),
    (
        "longshore_callback_queue_duration_seconds",
        Histogram,
        Unit::Seconds,
        "Time between the due time of a callback and its sending, by class of its host.",
    ),
    (
        "longshore_callback_slots_in_use",
        Gauge,
        Unit::Count,
        "Callbacks in flight, by class of their host: quick, unknown, slow, failing.",
    ),
    (
        "longshore_cargo_loaded_total",
        LabelledCounter,
        Unit::Count,
        "Accepted cargo.",
    ),
    (
        "longshore_database_clock_offset_seconds",
        Gauge,
        Unit::Seconds,
        "Offset of a database's clock to this host's; positive when ahead.",
    ),
    (
        "longshore_files_dependency_healthy",
        Gauge,
        Unit::Count,
        "1 while the object store or the scanner passes every health check.",
    ),
    (
        "longshore_files_failed_total",
        LabelledCounter,
        Unit::Count,
        "Uploaded files that failed, by reason.",
    ),
    (
        "longshore_files_ready_total",
        Counter,
        Unit::Count,
        "Uploaded files that became ready.",
    ),
    (
        "longshore_files_validating",
        Gauge,
        Unit::Count,
        "Files that wait for or are in validation.",
    ),
    (
        "longshore_files_validating_oldest_age_seconds",
        Gauge,
        Unit::Seconds,
        "Age of the oldest file in validation; 0 when there is none.",
    ),
    (
        "longshore_group_commit_loads",
        Histogram,
        Unit::Count,
        "Loads committed in one transaction.",
    ),
    (
        "longshore_group_commit_unknown_results_total",
        Counter,
        Unit::Count,
        "Commits whose result was unknown and had to be looked up.",
    ),
    (
        "longshore_http_connections_refused_total",
        Counter,
        Unit::Count,
        "Connections refused because all others were busy.",
    ),
    (
        "longshore_http_connections_shed_total",
        Counter,
        Unit::Count,
        "Idle or half-open connections closed to make room for new ones.",
    ),
    (
        "longshore_http_connections_timed_out_total",
        Counter,
        Unit::Count,
        "Connections closed by a timeout: idle, sending headers too slowly, or reading too slowly.",
    ),
    (
        "longshore_http_request_bodies_over_budget_total",
        Counter,
        Unit::Count,
        "Requests refused with 503 because SVC_BODY_BUDGET_BYTES was used up.",
    ),
    (
        "longshore_http_request_bodies_timed_out_total",
        Counter,
        Unit::Count,
        "Requests refused with 408 because their body arrived too slowly.",
    ),
    (
        "longshore_http_request_duration_seconds",
        Histogram,
        Unit::Seconds,
        "Time to answer a request, by route.",
    ),
    (
        "longshore_http_requests_total",
        LabelledCounter,
        Unit::Count,
        "Answered requests.",
    ),
    (
        "longshore_ledger_faults",
        Gauge,
        Unit::Count,
        "Violated invariants of the ledger; 0 also on nodes that do not audit. Page above 0.",
    ),
    (
        "longshore_ledger_last_check_timestamp_seconds",
        Gauge,
        Unit::Seconds,
        "Unix time at which this node last audited the ledger.",
    ),
    (
        "longshore_loads_refused_overload_total",
        Counter,
        Unit::Count,
        "Loads refused with 503 because too many were waiting.",
    ),
    (
        "longshore_object_removal_held",
        Gauge,
        Unit::Count,
        "1 while objects are not removed because the database was restored, promoted or copied.",
    ),
    (
        "longshore_orphaned_claims_freed_total",
        LabelledCounter,
        Unit::Count,
        "Claims of dead nodes that were released.",
    ),
    (
        "longshore_outcomes_unprocessable_total",
        LabelledCounter,
        Unit::Count,
        "Outcomes recorded as failures because they could not be processed, by reason.",
    ),
    (
        "longshore_outcomes_usage_estimated_total",
        Counter,
        Unit::Count,
        "Outcomes whose token usage was estimated because the provider did not report it.",
    ),
    (
        "longshore_partition_days_ahead",
        Gauge,
        Unit::Count,
        "Days after today that have partitions; -1 when today has none. Alert below 5.",
    ),
    (
        "longshore_patrol_missing_objects_total",
        Counter,
        Unit::Count,
        "Ready files whose bytes are missing in the object store. Page above 0.",
    ),
    (
        "longshore_patrol_removed_objects_total",
        LabelledCounter,
        Unit::Count,
        "Objects removed because no database row refers to them, by kind.",
    ),
    (
        "longshore_provider_circuit_breaker_open",
        Gauge,
        Unit::Count,
        "1 while the circuit breaker of a provider account is open after failures.",
    ),
    (
        "longshore_provider_jobs_lost_total",
        Counter,
        Unit::Count,
        "Provider jobs that the provider no longer knows; their cargo is requeued.",
    ),
    (
        "longshore_rate_limit_checks_total",
        LabelledCounter,
        Unit::Count,
        "Rate limit checks, by kind: bucket or backstop.",
    ),
    (
        "longshore_rate_limit_circuit_breaker_open",
        Gauge,
        Unit::Count,
        "1 while Redis is unreachable and this process enforces its share of the limits alone.",
    ),
    (
        "longshore_rate_limit_fallback_checks_total",
        Counter,
        Unit::Count,
        "Rate limit checks answered without Redis because it was unreachable.",
    ),
    (
        "longshore_rate_limit_nodes",
        Gauge,
        Unit::Count,
        "Serving processes, as this process counts them.",
    ),
    (
        "longshore_rate_limit_redis_call_duration_seconds",
        Histogram,
        Unit::Seconds,
        "Duration of a call to Redis.",
    ),
    (
        "longshore_rate_limit_redis_calls_total",
        Counter,
        Unit::Count,
        "Calls to Redis; one call covers all waiting rate limit checks.",
    ),
    (
        "longshore_scan_duration_seconds",
        Histogram,
        Unit::Seconds,
        "Time to verify one file.",
    ),
    (
        "longshore_scanned_bytes_total",
        Counter,
        Unit::Bytes,
        "Bytes of verified files.",
    ),
    (
        "longshore_stage_failures_total",
        LabelledCounter,
        Unit::Count,
        "Failed steps of a stage; each is retried.",
    ),
    (
        "longshore_stage_items_total",
        LabelledCounter,
        Unit::Count,
        "Items that a stage has processed.",
    ),
    (
        "longshore_stage_oldest_waiting_age_seconds",
        Gauge,
        Unit::Seconds,
        "Age of the oldest item that waits for a stage; 0 when none waits.",
    ),
    (
        "longshore_submissions_ambiguous_total",
        Counter,
        Unit::Count,
        "Reconciliations that found more than one possible job for a batch.",
    ),
    (
        "longshore_submissions_duplicated_total",
        Counter,
        Unit::Count,
        "Second jobs for the same batch that were found and cancelled.",
    ),
    (
        "longshore_submissions_indeterminate_total",
        Counter,
        Unit::Count,
        "Submissions whose result is unknown; they are reconciled.",
    ),
    (
        "longshore_submissions_orphaned_total",
        Counter,
        Unit::Count,
        "Provider jobs created after this process had lost its claim.",
    ),
    (
        "longshore_submissions_possibly_duplicated_total",
        Counter,
        Unit::Count,
        "Batches requeued although the provider may have a job for them; cargo may be billed twice.",
    ),
    (
        "longshore_submissions_resent_total",
        Counter,
        Unit::Count,
        "Batches submitted again after the provider did not have them.",
    ),
    (
        "longshore_sweep_failures_total",
        LabelledCounter,
        Unit::Count,
        "Failed parts of sweep, by part; each is retried.",
    ),
];

/// Tells the recorder about all metrics.
pub fn register() {
    for (name, kind, unit, help) in METRICS {
        match kind {
            Counter => {
                describe_counter!(*name, *unit, *help);
                counter!(*name).absolute(0);
            }
            LabelledCounter => describe_counter!(*name, *unit, *help),
            Gauge => describe_gauge!(*name, *unit, *help),
            Histogram => describe_histogram!(*name, *unit, *help),
        }
    }
}
