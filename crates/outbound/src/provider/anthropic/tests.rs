//! Requests, results and batch objects of Anthropic.

mod batches;
mod requests;
mod results;
