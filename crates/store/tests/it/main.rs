//! The store against a real PostgreSQL, with a database for each test.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a helper that fails ends its test"
)]

mod control;
mod doctor;
mod durability;
mod feed;
mod file;
mod history;
mod ledger_audit;
mod migration_rules;
mod migrations;
mod node;
mod online_steps;
mod pool;
mod pool_hosts;
mod pool_tls;
mod recovery;
mod saving;
mod statement;
mod tables;
mod view_cargo;
