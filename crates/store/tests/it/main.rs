//! The store against a real PostgreSQL, with a database for each test.

#![expect(clippy::unwrap_used, reason = "a helper that fails ends its test")]

mod control;
mod doctor;
mod support;
