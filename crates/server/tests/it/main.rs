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

mod support;

mod deliveries;

mod gathering;

mod idempotency;

mod journey;

mod keys;

mod ledger;

mod ledger_model;

mod limits;

mod loads;

mod money;

mod overdraft;

mod takeover;
