//! Receives callbacks.

pub mod callback_sink;
pub mod receipts;
