//! Callbacks, rate limits, the object store, the scanner and providers, over loopback sockets.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

mod support;

mod callback_connections;
mod callback_deadline;
mod callback_requests;
mod callback_responses;
mod callback_tls;
mod malware_scanner;
mod malware_scanner_faults;
mod object_store;
mod object_store_faults;
mod object_store_probe;
mod probe;
mod provider;
mod rate_limits;
mod role_credentials;
mod ssrf_guard;
