//! Receives callbacks, and compares them with what was loaded.

pub mod callback_log;
pub mod callback_sink;
pub mod recording_sink;
