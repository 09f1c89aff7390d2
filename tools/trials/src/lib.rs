//! Trials: what the service promises, measured against real processes.
//!
//! A trial starts PostgreSQL, Redis and `longshored` processes of its own,
//! drives them over HTTP as callers do, and ends with one line of JSON. It
//! knows nothing of the service's code; what it reads beyond HTTP it reads by SQL.

pub mod bench;
pub mod catalogue;
pub mod chaos;
pub mod connection;
pub mod cpu;
pub mod crowd;
pub mod daemon;
pub mod failure;
pub mod figures;
pub mod http;
pub mod ledger;
pub mod licence;
pub mod metrics;
pub mod options;
pub mod organization;
pub mod port;
pub mod postgres;
pub mod process;
pub mod progress;
pub mod receiver;
pub mod redis;
pub mod request;
pub mod scratch;
pub mod setup;
pub mod stand;
pub mod verdict;
