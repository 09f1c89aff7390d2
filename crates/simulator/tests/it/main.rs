//! The simulator over real HTTP, with a clock moved by hand.
#![expect(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a program has no outside, and helpers of tests fail by panicking"
)]

mod admin;
mod anthropic;
mod anthropic_faults;
mod creating;
mod gemini;
mod gemini_faults;
mod large;
mod openai;
mod openai_faults;
mod server;
mod support;
mod validation;
