//! The whole service over HTTP, with real PostgreSQL and a hand-moved clock.
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

#[path = "../../../outbound/tests/it/support/store.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod storage;

/// One of the few settings of the tests: where a server of theirs is.
#[expect(
    clippy::disallowed_methods,
    clippy::panic,
    reason = "the one place that reads them"
)]
fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: ./dev test"))
}

mod support;

mod dashboard;

mod days;

mod dead_rows;

mod deliveries;

mod files;

mod files_away;

mod files_complete;

mod files_quota;

mod files_race;

mod files_records;

mod files_references;

mod files_restore;

mod files_scan;

mod files_sweep;

mod gathering;

mod idempotency;

mod interleavings;

mod isolation;

mod journey;

mod keys;

mod ledger;

mod ledger_model;

mod limits;

mod loads;

mod money;

mod notes;

mod overdraft;

mod pauses;

mod probe;

mod resends;

mod savings;

mod scenarios;

mod stream;

mod takeover;

mod waiting;
