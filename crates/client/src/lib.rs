//! The client of Longshore's HTTP API, for Rust programs such as the command line `longshore`.
//!
//! It knows the routes, the errors of `clients/errors.toml` and the retry rule that all clients
//! share. Requests are written with sorted keys, so a restarted process repeats the same bytes.

pub mod call;

pub mod canonical_json;

pub mod cargo;

pub mod client_error;

mod connection;

pub mod error_entry;

pub mod error_table;

mod file_digests;

pub mod files;

mod groups;

pub mod line_reader;

mod listen;

pub mod load_check;

pub mod records;

pub mod retry;

pub mod longshore_client;

mod slow_body;

pub mod sse;

pub mod transport;

mod upload_state;

pub mod webhook_signature;

pub use call::ApiCall;
pub use client_error::ClientError;
pub use listen::ListenerAnswer;
pub use longshore_client::LongshoreClient;
