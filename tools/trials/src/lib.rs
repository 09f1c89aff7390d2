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

pub mod background_load;
pub mod base_environment;
pub mod bench;
pub mod callback_sink;
pub mod catalogue;
pub mod chaos;
pub mod child_process;
pub mod clamd;
pub mod cpu_time;
pub mod failure;
pub mod faulty_relay;
pub mod files_client;
pub mod files_environment;
pub mod free_port;
pub mod http_client;
pub mod keep_alive;
pub mod licence;
pub mod llama;
pub mod load_log;
pub mod load_request;
pub mod longshored_process;
pub mod metrics;
pub mod options;
pub mod org_factory;
pub mod org_setup;
pub mod organization;
pub mod pgwire;
pub mod postgres;
pub mod process_memory;
pub mod progress;
pub mod provider_environment;
pub mod redis;
pub mod s3_bucket;
pub mod sample_files;
pub mod scratch_folder;
pub mod seaweedfs;
pub mod service_client;
pub mod sha256;
pub mod silent_relay;
pub mod simulator_process;
pub mod slow_relay;
pub mod small_disk;
pub mod soak;
pub mod statement_relay;
pub mod statistics;
pub mod tcp_ports;
pub mod verdict;
