//! What the tests of several crates share: databases, servers, a clock and sample files.
//!
//! Only tests depend on this crate. It may not depend on a crate whose unit tests use it: they
//! would see two different copies of that crate's types.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a helper that fails ends its test"
)]

pub mod clock;
pub mod corpus;
pub mod environment;
pub mod features;
pub mod redis;
pub mod sample_files;

#[cfg(feature = "certificates")]
pub mod certificates;

#[cfg(feature = "database")]
pub mod database;
#[cfg(feature = "database")]
pub mod ledger_proof;

#[cfg(feature = "object-store")]
pub mod object_store;

#[cfg(feature = "receiver")]
pub mod callback_receiver;
#[cfg(feature = "receiver")]
pub mod scripted_receiver;
