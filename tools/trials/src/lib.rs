//! Trials: what the service promises, measured against real processes.
//!
//! A trial starts PostgreSQL, Redis and `longshored` processes of its own, and
//! an object store and a scanner where files are concerned,
//! drives them over HTTP as callers do, and ends with one line of JSON. It
//! knows nothing of the service's code; what it reads beyond HTTP it reads by SQL.

#![expect(
    clippy::disallowed_methods,
    reason = "a trial looks from outside: by unchecked statements, and by the host's clock"
)]

pub mod bench;
pub mod beside;
pub mod bucket;
pub mod caller;
pub mod catalogue;
pub mod chaos;
pub mod connection;
pub mod cpu;
pub mod crowd;
pub mod daemon;
pub mod digest;
pub mod dock;
pub mod failure;
pub mod figures;
pub mod fleet;
pub mod http;
pub mod ledger;
pub mod licence;
pub mod llama;
pub mod memory;
pub mod metrics;
pub mod objects;
pub mod options;
pub mod organization;
pub mod pgwire;
pub mod port;
pub mod postgres;
pub mod process;
pub mod progress;
pub mod receiver;
pub mod redis;
pub mod relay;
pub mod request;
pub mod samples;
pub mod scanner;
pub mod scratch;
pub mod setup;
pub mod silent_relay;
pub mod simulator;
pub mod slow_relay;
pub mod small_disk;
pub mod soak;
pub mod sockets;
pub mod stand;
pub mod statement_relay;
pub mod verdict;
pub mod web;
