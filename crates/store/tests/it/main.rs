//! The store against a real PostgreSQL, with a database for each test.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a helper that fails ends its test"
)]

mod audit;
mod control;
mod doctor;
mod file;
mod node;
mod pool;
mod saving;
mod statement;
mod support;
mod view_cargo;
