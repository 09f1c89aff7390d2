//! The whole service over HTTP, with real PostgreSQL and a hand-moved clock.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed step of a test is a panic"
)]

#[path = "../../../store/tests/it/support.rs"]
mod database;

mod support;

mod deliveries;

mod gathering;

mod idempotency;

mod journey;

mod keys;

mod loads;

mod takeover;
