//! Load generators, and what became of their loads.

pub mod callback_log;
pub mod callers;
pub mod closed_loop;
pub mod load_log;
pub mod open_loop;
pub mod question_loader;
