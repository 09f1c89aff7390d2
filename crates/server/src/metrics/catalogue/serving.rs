//! Metrics of the API, rate limits, databases, encryption, the audit log, tracing and the licence.

use crate::metrics::catalogue::MetricEntry;
use crate::metrics::catalogue::MetricKind::{
    Counter, CounterBy, Gauge, Histogram, LabelledCounter,
};

/// In alphabetical order. The end of a name says the unit.
pub(super) const SERVING_METRICS: &[MetricEntry] = &[
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
        "longshore_database_reachable",
        "1 while this process reaches a database, else 0.",
    ),
    (
        LabelledCounter,
        "longshore_dropin_items_total",
        "Items of batches in other providers' formats that were loaded, failed or were cancelled.",
    ),
    (
        LabelledCounter,
        "longshore_feed_read_failures_total",
        "Failed reads of the feed that wakes waiting requests; they are answered up to 5 seconds late meanwhile.",
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
        "longshore_licence_expiry_timestamp_seconds",
        "Unix time at which the licence expires; 0 when it cannot be used. There is no series without a licence.",
    ),
    (
        Gauge,
        "longshore_listeners",
        "Programs that hold a stream for callbacks open at this process (listen tunnel).",
    ),
    (
        Counter,
        "longshore_loads_refused_overload_total",
        "Loads refused with 503 because too many were waiting.",
    ),
    (
        Gauge,
        "longshore_long_polls",
        "Requests that wait for their cargo or group to change.",
    ),
    (
        Counter,
        "longshore_long_polls_refused_total",
        "Requests that did not wait because too many were waiting.",
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
        Counter,
        "longshore_trace_spans_dropped_total",
        "Spans that were not exported: the queue was full, or the collector refused them or did not answer.",
    ),
    (
        Counter,
        "longshore_trace_spans_exported_total",
        "Spans that the collector accepted.",
    ),
];
