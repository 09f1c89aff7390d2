//! The processes around the service: databases, Redis, object store, scanner, model, simulator.

pub mod child_process;
pub mod child_server;
pub mod clamd;
pub mod etcd;
pub mod free_port;
pub mod llama;
pub mod patroni;
pub mod postgres;
pub mod prometheus;
pub mod redis;
pub mod scratch_folder;
pub mod seaweedfs;
pub mod simulator_process;
pub mod small_disk;
pub mod tmux;
