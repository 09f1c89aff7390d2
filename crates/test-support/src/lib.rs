//! What the tests of several crates share: databases, servers and a clock.
//!
//! Only tests depend on this crate. It may not depend on a crate whose unit tests use it: they
//! would see two different copies of that crate's types.
#![expect(clippy::unwrap_used, reason = "a helper that fails ends its test")]

pub mod clock;
pub mod environment;
pub mod redis;

#[cfg(feature = "database")]
pub mod database;

#[cfg(feature = "object-store")]
pub mod object_store;

#[cfg(feature = "receiver")]
pub mod callback_receiver;
#[cfg(feature = "receiver")]
pub mod scripted_receiver;
