//! Metrics of the stages: batches, providers, callbacks and the ledger.

use crate::metrics::catalogue::MetricEntry;
use crate::metrics::catalogue::MetricKind::{
    Counter, CounterBy, Gauge, Histogram, LabelledCounter,
};

/// In alphabetical order. The end of a name says the unit.
pub(super) const WORK_METRICS: &[MetricEntry] = &[
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
        CounterBy("outcome", &["delivered", "failed"]),
        "longshore_callbacks_ended_total",
        "Callbacks that were acknowledged, or whose retries are exhausted, by outcome. Resends are not counted.",
    ),
    (
        Histogram,
        "longshore_cargo_callback_seconds",
        "Time from the load of a cargo until its callback was acknowledged.",
    ),
    (
        LabelledCounter,
        "longshore_cargo_cancelled_total",
        "Cargo that callers cancelled before a provider had it.",
    ),
    (
        LabelledCounter,
        "longshore_cargo_erased_total",
        "Cargo whose bodies sweep erased after the retention of its project.",
    ),
    (
        LabelledCounter,
        "longshore_database_failovers_total",
        "Changed timelines of a shard's PostgreSQL: a standby was promoted.",
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
        Gauge,
        "longshore_ledger_faults",
        "Violated invariants of the ledger; 0 also on nodes that do not audit. Page above 0.",
    ),
    (
        Gauge,
        "longshore_ledger_last_check_timestamp_seconds",
        "Unix time at which this node last proved what had changed in the ledger.",
    ),
    (
        Gauge,
        "longshore_ledger_oldest_proof_timestamp_seconds",
        "Unix time since which every kept row of the ledger was read, as this node knows it.",
    ),
    (
        CounterBy(
            "outcome",
            &[
                "answered",
                "disconnected",
                "no_listener",
                "not_stored",
                "timed_out",
            ],
        ),
        "longshore_listener_callbacks_total",
        "Callback attempts through the listen tunnel, by outcome: answered with any status, timed_out, no_listener, disconnected or not_stored.",
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
        Gauge,
        "longshore_provider_account_paused",
        "1 while a provider account is paused: nothing is sent to it.",
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
        Gauge,
        "longshore_recovery_pause",
        "1 while a shard is paused because its database was restored or copied.",
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
    (
        LabelledCounter,
        "longshore_unknown_provider_jobs_total",
        "Provider jobs found after a failover that no row knows.",
    ),
];
