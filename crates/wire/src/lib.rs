//! Every JSON body of the contract, and nothing else.
//!
//! The descriptions and examples here are what `/docs` shows to callers.

pub mod timestamp;

pub mod load;

pub mod completion;

pub mod tracking;

pub mod callback;

pub mod error_body;

pub mod health;

pub mod file;

pub mod audit;
