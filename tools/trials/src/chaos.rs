//! Chaos: the trial breaks something under load, then checks every promise of the service.

pub mod callback_latency;
pub mod connections;
pub mod files;
pub mod freeze;
pub mod idempotent_loads;
pub mod idle;
pub mod interruption_findings;
pub mod kill;
pub mod limits;
pub mod markers;
pub mod neighbours;
pub mod overload;
pub mod partition;
pub mod process_pair;
pub mod promote;
pub mod redis;
pub mod restart;
pub mod scanner;
pub mod server;
pub mod shard;
pub mod statements;
pub mod store;
pub mod submit;
