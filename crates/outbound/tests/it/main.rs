//! Callbacks and counters against receivers of flesh and sockets, all on loopback.
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
mod requests;
mod tls;
