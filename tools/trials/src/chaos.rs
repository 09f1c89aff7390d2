//! Things break under load, and every promise is counted afterwards.

pub mod connections;
pub mod cutter;
pub mod kill;
pub mod restart;
pub mod scene;
pub mod settle;
pub mod shard;
pub mod takeup;
pub mod traffic;
pub mod weather;
pub mod witness;
