//! Clients of the service, of the object store and of the simulator.

pub mod files_client;
pub mod http_client;
pub mod keep_alive;
pub mod load_request;
pub mod s3_bucket;
pub mod service_client;
