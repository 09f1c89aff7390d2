//! What the sandbox does to who will not stay inside.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod sandbox;
