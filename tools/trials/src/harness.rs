//! What every trial is built from: servers, the service, callers, relays, measurements, checks.

pub mod callbacks;
pub mod checks;
pub mod environment;
pub mod failure;
pub mod http;
pub mod load;
pub mod longshored;
pub mod measurement;
pub mod organization;
pub mod polling;
pub mod progress;
pub mod relays;
pub mod sample_files;
pub mod servers;
pub mod sha256;
pub mod verdict;
