//! Callbacks, counters, the object store and the scanner: flesh and sockets, all on loopback.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

mod support;

mod addresses;
mod answers;
mod connections;
mod counters;
mod deadline;
mod objects;
mod objects_faults;
mod objects_probe;
mod probe;
mod provider;
mod requests;
mod scanner;
mod scanner_faults;
mod tls;
