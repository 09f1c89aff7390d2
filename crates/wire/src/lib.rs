//! Every JSON body of the contract, and nothing else.
//!
//! The descriptions and examples here are what `/docs` shows to callers.

pub mod timestamp;

pub mod load;

pub mod bulk;

pub mod estimate;

pub mod group;

pub mod completion;

pub mod tracking;

pub mod cargo_list;

pub mod model_list;

pub mod wait;
pub mod whoami;

pub mod callback;

pub mod listen;

pub mod cancel;

pub mod error_body;

pub mod health;

pub mod file;

pub mod audit;
