//! The service under test: its processes, its files of settings, its organizations, its metrics.

pub mod catalogue;
pub mod config_files;
pub mod licence;
pub mod longshored_process;
pub mod metrics;
pub mod org_setup;
pub mod shifted_clock;
