//! Things break under load, and every promise is counted afterwards.

pub mod audit;
pub mod connections;
pub mod cutter;
pub mod episode;
pub mod files;
pub mod kill;
pub mod limits;
pub mod lone;
pub mod pair;
pub mod redis;
pub mod restart;
pub mod rush;
pub mod samples;
pub mod scanner;
pub mod scene;
pub mod server;
pub mod settle;
pub mod shard;
pub mod store;
pub mod submit;
pub mod takeup;
pub mod traffic;
pub mod weather;
pub mod witness;
