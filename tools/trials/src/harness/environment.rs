//! Environments: servers, databases and service processes that start and stop together.

pub mod base_environment;
pub mod databases;
pub mod deployment;
pub mod files_environment;
pub mod org_factory;
pub mod patroni_cluster;
pub mod provider_environment;
pub mod trial_environment;
