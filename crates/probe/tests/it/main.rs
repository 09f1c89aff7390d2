//! The sandbox kills programs that break its rules.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod sandbox;
