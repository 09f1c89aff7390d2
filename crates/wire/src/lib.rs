//! Every JSON body of the contract, and nothing else.
//!
//! The descriptions and examples here are what `/docs` shows to callers.

pub mod moment;

pub mod load;

pub mod completion;

pub mod tracking;

pub mod callback;

pub mod detail;

pub mod health;

pub mod file;
