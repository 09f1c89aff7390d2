//! Callbacks against receivers of flesh and sockets, all on loopback.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

mod addresses;
mod answers;
mod connections;
mod deadline;
mod requests;
mod tls;
