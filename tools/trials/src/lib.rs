//! Trials: measure the promises of the service against real processes.
//!
//! A trial starts its own PostgreSQL, Redis and `longshored` processes, and an object store and
//! a scanner if it needs files. It drives them over HTTP as callers do, and ends with one line
//! of JSON. It does not use the service's code; everything that it does not read over HTTP it
//! reads by SQL.

#![expect(
    clippy::disallowed_methods,
    reason = "a trial is a client: it uses unchecked statements and the host's clock"
)]

pub mod bench;
pub mod chaos;
pub mod dev_servers;
pub mod harness;
pub mod options;
pub mod soak;
