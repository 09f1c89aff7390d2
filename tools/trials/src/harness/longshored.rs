//! The service under test: its processes, its files of settings, its organizations, its metrics.

pub mod accounts;
pub mod catalogue;
pub mod licence;
pub mod longshored_process;
pub mod metrics;
pub mod org_setup;
