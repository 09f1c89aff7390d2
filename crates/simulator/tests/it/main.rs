//! The simulator over real HTTP, with a clock moved by hand.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests fail by panicking"
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
