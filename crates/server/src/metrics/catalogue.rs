//! Every metric with its kind and help text.

use domain::file::FileFailureReason;
use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram};

use MetricKind::{Counter, CounterBy, Gauge, Histogram, LabelledCounter};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// It is there from the start, with 0.
    Counter,
    /// A counter with one label and all its values: each series is there from the start, with 0.
    CounterBy(&'static str, &'static [&'static str]),
    /// A counter whose labels have values that are known later, such as shards. What counts it
    /// also starts its series.
    LabelledCounter,
    Gauge,
    Histogram,
}

/// In alphabetical order. The end of a name says the unit.
pub const METRICS: &[(MetricKind, &str, &str)] = &[
    (
        Gauge,
        "longshore_audit_file_lag_seconds",
        "Age of the oldest audit log entry that is not in SVC_AUDIT_FILE yet; 0 when there is none.",
    ),
    (
        Counter,
        "longshore_audit_file_write_errors_total",
        "Failed attempts to write SVC_AUDIT_FILE; each is retried.",
    ),
    (Histogram, "longshore_batch_cargo", "Cargo per batch."),
    (
        Counter,
        "longshore_batch_results_repeated_total",
        "Provider results that repeat one of the same batch.",
    ),
    (
        Counter,
        "longshore_batch_results_unmatched_total",
        "Provider results that match no open cargo of their batch.",
    ),
    (
        CounterBy(
            "reason",
            &[
                "interrupted",
                "not_recorded",
                "signing_root_missing",
                "unreadable",
            ],
        ),
        "longshore_callback_attempt_errors_total",
        "Callback attempts that could not be made or recorded, by reason.",
    ),
    (
        CounterBy("outcome", &["delivered", "failed"]),
        "longshore_callback_attempts_total",
        "Callback attempts, by outcome.",
    ),
    (
        Counter,
        "longshore_callback_claims_lost_total",
        "Callback attempts left to another worker because this one lost its lease.",
    ),
    (
        Histogram,
        "longshore_callback_duration_seconds",
        "Duration of a callback attempt.",
    ),
    (
        Histogram,
        "longshore_callback_queue_duration_seconds",
        "Time between the due time of a callback and its sending, by class of its host.",
    ),
    (
        Gauge,
        "longshore_callback_slots_in_use",
        "Callbacks in flight, by class of their host: quick, unknown, slow, failing.",
    ),
    (
        LabelledCounter,
        "longshore_cargo_erased_total",
        "Cargo whose bodies sweep erased after the retention of its project.",
    ),
    (
        LabelledCounter,
        "longshore_cargo_loaded_total",
        "Accepted cargo.",
    ),
    (
        CounterBy("operation", &["batch", "callback", "request"]),
        "longshore_data_key_unavailable_total",
        "Requests, batches and callbacks that wait because a data key cannot be unwrapped, by operation.",
    ),
    (
        Gauge,
        "longshore_database_clock_offset_seconds",
        "Offset of a database's clock to this host's; positive when ahead.",
    ),
    (
        Gauge,
        "longshore_files_dependency_healthy",
        "1 while the object store, the scanner or the file probe passes every health check.",
    ),
    (
        LabelledCounter,
        "longshore_files_failed_total",
        "Uploaded files that failed, by reason.",
    ),
    (
        Counter,
        "longshore_files_ready_total",
        "Uploaded files that became ready.",
    ),
    (
        Gauge,
        "longshore_files_validating",
        "Files that wait for or are in validation.",
    ),
    (
        Gauge,
        "longshore_files_validating_oldest_age_seconds",
        "Age of the oldest file in validation; 0 when there is none.",
    ),
    (
        Counter,
        "longshore_flex_downgraded_total",
        "Flex requests that the provider served, and bills, at its standard tier.",
    ),
    (
        Counter,
        "longshore_flex_refused_total",
        "Flex requests that the provider refused for lack of capacity.",
    ),
    (
        Counter,
        "longshore_flex_unknown_total",
        "Flex requests without a response before their timeout; the provider may bill them.",
    ),
    (
        Histogram,
        "longshore_group_commit_loads",
        "Loads committed in one transaction.",
    ),
    (
        Counter,
        "longshore_group_commit_unknown_results_total",
        "Commits whose result was unknown and had to be looked up.",
    ),
    (
        Counter,
        "longshore_http_connections_refused_total",
        "Connections refused because all others were busy.",
    ),
    (
        Counter,
        "longshore_http_connections_shed_total",
        "Idle, half-open and unread connections closed to make room for new ones.",
    ),
    (
        Counter,
        "longshore_http_connections_timed_out_total",
        "Connections closed by a timeout: idle, sending headers too slowly, or reading too slowly.",
    ),
    (
        Counter,
        "longshore_http_request_bodies_over_budget_total",
        "Requests refused with 503 because SVC_BODY_BUDGET_BYTES was used up.",
    ),
    (
        Counter,
        "longshore_http_request_bodies_timed_out_total",
        "Requests refused with 408 because their body arrived too slowly.",
    ),
    (
        Histogram,
        "longshore_http_request_duration_seconds",
        "Time to answer a request, by route.",
    ),
    (
        Counter,
        "longshore_http_requests_refused_total",
        "Requests refused with 503 because their client, behind a trusted proxy, had too many in progress.",
    ),
    (
        LabelledCounter,
        "longshore_http_requests_total",
        "Answered requests.",
    ),
    (
        Gauge,
        "longshore_ledger_faults",
        "Violated invariants of the ledger; 0 also on nodes that do not audit. Page above 0.",
    ),
    (
        Gauge,
        "longshore_ledger_last_check_timestamp_seconds",
        "Unix time at which this node last audited the ledger.",
    ),
    (
        Counter,
        "longshore_loads_refused_overload_total",
        "Loads refused with 503 because too many were waiting.",
    ),
    (
        Gauge,
        "longshore_object_removal_held",
        "1 while objects are not removed because the database was restored, promoted or copied.",
    ),
    (
        LabelledCounter,
        "longshore_orphaned_claims_freed_total",
        "Claims of dead nodes that were released.",
    ),
    (
        CounterBy("reason", &["takeovers", "unstorable"]),
        "longshore_outcomes_unprocessable_total",
        "Outcomes recorded as failures because they could not be processed, by reason.",
    ),
    (
        Counter,
        "longshore_outcomes_usage_doubtful_total",
        "Outcomes whose token counts contradict each other. The caller is charged for the smaller count, and our cost is booked for the larger.",
    ),
    (
        Counter,
        "longshore_outcomes_usage_estimated_total",
        "Outcomes whose token usage was estimated because the provider did not report it.",
    ),
    (
        Gauge,
        "longshore_partition_days_ahead",
        "Days after today that have partitions; -1 when today has none. Alert below 5.",
    ),
    (
        Counter,
        "longshore_patrol_missing_objects_total",
        "Ready files whose bytes are missing in the object store. Page above 0.",
    ),
    (
        CounterBy("kind", &["published", "staging", "upload"]),
        "longshore_patrol_removed_objects_total",
        "Objects removed because no database row refers to them, by kind.",
    ),
    (
        Gauge,
        "longshore_provider_circuit_breaker_open",
        "1 while the circuit breaker of a provider account is open after failures.",
    ),
    (
        LabelledCounter,
        "longshore_provider_deletions_total",
        "Ended batches whose files were deleted at their provider, or left there to expire, by outcome.",
    ),
    (
        Counter,
        "longshore_provider_jobs_lost_total",
        "Provider jobs that the provider no longer knows; their cargo is requeued.",
    ),
    (
        CounterBy("kind", &["backstop", "bucket"]),
        "longshore_rate_limit_checks_total",
        "Rate limit checks, by kind: bucket or backstop.",
    ),
    (
        Gauge,
        "longshore_rate_limit_circuit_breaker_open",
        "1 while Redis is unreachable and this process enforces its share of the limits alone.",
    ),
    (
        Counter,
        "longshore_rate_limit_fallback_checks_total",
        "Rate limit checks answered without Redis because it was unreachable.",
    ),
    (
        Gauge,
        "longshore_rate_limit_nodes",
        "Serving processes, as this process counts them.",
    ),
    (
        Histogram,
        "longshore_rate_limit_redis_call_duration_seconds",
        "Duration of a call to Redis.",
    ),
    (
        Counter,
        "longshore_rate_limit_redis_calls_total",
        "Calls to Redis; one call covers all waiting rate limit checks.",
    ),
    (
        Histogram,
        "longshore_scan_duration_seconds",
        "Time to verify one file.",
    ),
    (
        Counter,
        "longshore_scanned_bytes_total",
        "Bytes of verified files.",
    ),
    (
        LabelledCounter,
        "longshore_stage_failures_total",
        "Failed steps of a stage; each is retried.",
    ),
    (
        LabelledCounter,
        "longshore_stage_items_total",
        "Items that a stage has processed.",
    ),
    (
        Gauge,
        "longshore_stage_oldest_waiting_age_seconds",
        "Age of the oldest item that waits for a stage; 0 when none waits.",
    ),
    (
        Counter,
        "longshore_submissions_ambiguous_total",
        "Reconciliations that found more than one possible job for a batch.",
    ),
    (
        Counter,
        "longshore_submissions_duplicated_total",
        "Second jobs for the same batch that were found and cancelled.",
    ),
    (
        Counter,
        "longshore_submissions_indeterminate_total",
        "Submissions whose result is unknown; they are reconciled.",
    ),
    (
        Counter,
        "longshore_submissions_orphaned_total",
        "Provider jobs created after this process had lost its claim.",
    ),
    (
        Counter,
        "longshore_submissions_possibly_duplicated_total",
        "Batches requeued although the provider may have a job for them; cargo may be billed twice.",
    ),
    (
        Counter,
        "longshore_submissions_resent_total",
        "Batches submitted again after the provider did not have them.",
    ),
    (
        LabelledCounter,
        "longshore_sweep_failures_total",
        "Failed parts of sweep, by part; each is retried.",
    ),
];

/// Tells the recorder about all metrics.
pub fn register() {
    for (kind, name, help) in METRICS {
        let unit = unit_of(name);
        match kind {
            Counter => {
                describe_counter!(*name, unit, *help);
                counter!(*name).absolute(0);
            }
            CounterBy(label, values) => {
                describe_counter!(*name, unit, *help);
                for value in *values {
                    counter!(*name, *label => *value).absolute(0);
                }
            }
            LabelledCounter => describe_counter!(*name, unit, *help),
            Gauge => describe_gauge!(*name, unit, *help),
            Histogram => describe_histogram!(*name, unit, *help),
        }
    }
    // Workers do not count uploads that their callers abort.
    let is_counted = |reason: &&FileFailureReason| **reason != FileFailureReason::UploadAborted;
    for reason in FileFailureReason::ALL.iter().filter(is_counted) {
        counter!("longshore_files_failed_total", "reason" => reason.as_str()).absolute(0);
    }
}

fn unit_of(name: &str) -> Unit {
    let name = name.strip_suffix("_total").unwrap_or(name);
    if name.ends_with("_seconds") {
        Unit::Seconds
    } else if name.ends_with("_bytes") {
        Unit::Bytes
    } else {
        Unit::Count
    }
}

#[cfg(test)]
mod tests;
