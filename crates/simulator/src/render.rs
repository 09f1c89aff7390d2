//! Renders an answer in each provider's format.

pub mod anthropic;
mod counts;
pub mod gemini;
pub mod openai;
pub mod responses;

pub use crate::digest::hex_digits;
