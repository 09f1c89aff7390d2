//! Whole command lines of `longshore`, and the scenarios that all clients share.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed step of a test is a panic"
)]

mod command_lines;

mod environment;

mod fake_service;

mod http_request;

mod program;

mod receiver;

mod runs;

mod scenario_checks;

mod scenario_steps;

mod scenarios;

mod uploads;
