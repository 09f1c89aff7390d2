//! Tests of the whole service over HTTP, with real PostgreSQL and a manual clock.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed step of a test is a panic"
)]

#[path = "../../../store/tests/it/support.rs"]
mod database;

#[path = "../../../outbound/tests/it/support/redis.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod redis;

#[path = "../../../outbound/tests/it/support/object_store.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod storage;

/// An environment variable with the address of a server that the tests need.
#[expect(
    clippy::disallowed_methods,
    clippy::panic,
    reason = "the only place that reads the environment"
)]
fn required_variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: ./dev test"))
}

mod support;

mod dashboard;

mod partitions;

mod dead_rows;

mod deliveries;

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

mod gather;

mod idempotency;

mod interleavings;

mod isolation;

mod lifecycle;

mod api_keys;

mod ledger;

mod ledger_model;

mod rate_limits;

mod loads;

mod holds_and_settlement;

mod read_models;

mod outcome_groups;
mod overdraft;

mod pauses;

mod probe_process;

mod production;

mod request_formats;

mod resends;

mod savings;

mod scenarios;

mod stream;

mod takeover;

mod waiting_status;
