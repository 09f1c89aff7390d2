//! Benches: how fast the service is, and what it costs, compared with a baseline.

pub mod backlog;
pub mod batches;
pub mod bulk;
pub mod gather;
pub mod journey;
pub mod load;
pub mod load_variant;
pub mod pgbench;
pub mod routes;
pub mod videos;
pub mod waits;
