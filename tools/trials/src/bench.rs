//! How fast, and at what cost, beside figures that can be compared.

pub mod account;
pub mod backlog;
pub mod batches;
pub mod closed;
pub mod gather;
pub mod journey;
pub mod load;
pub mod pgbench;
pub mod variant;
pub mod videos;
pub mod watch;
