//! The simulator over real HTTP, with a manual clock.
#![expect(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test binary has no public API, and test helpers fail by panicking"
)]

mod admin;
mod anthropic;
mod anthropic_faults;
mod anthropic_requests;
mod bill;
mod flex;
mod gemini;
mod gemini_faults;
mod gemini_requests;
mod job_creation;
mod large_jobs;
mod openai;
mod openai_faults;
mod openai_requests;
mod realtime_server;
mod responses;
mod support;
mod validation;
