//! Tests of the whole service over HTTP, with real PostgreSQL and a manual clock.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed step of a test is a panic"
)]

mod support;

mod chart;

mod dashboard;

mod partitions;

mod dead_rows;

mod deliveries;

mod dropin_openai;

mod encryption;

mod erasure;

mod files;

mod files_unavailable;

mod files_complete;

mod files_quota;

mod files_delete_race;

mod files_records;

mod files_references;

mod files_restore;

mod files_scan;

mod files_sweep;

mod dropin_anthropic;

mod gather;

mod groups;

mod history;

mod idempotency;

mod interleavings;

mod isolation;

mod leases;

mod lifecycle;

mod listen;

mod api_keys;

mod bulk;
mod callback_log;

mod estimate;

mod groups_api;

mod callback_signing;

mod cargo_list;

mod client_errors;

mod cancel;
mod identity;

mod key_scopes;

mod key_spending_caps;

mod ledger;

mod ledger_model;

mod rate_limits;

mod loads;

mod extended_loads;

mod holds_and_settlement;

mod read_models;

mod earlier_costs;
mod outcome_groups;
mod overdraft;

mod pauses;

mod probe_process;

mod production;

mod request_formats;

mod resends;

mod retention;

mod savings;

mod scenarios;

mod stream;

mod takeover;

mod tracing_spans;

mod unknown_jobs;

mod waiting_status;

mod waits;
