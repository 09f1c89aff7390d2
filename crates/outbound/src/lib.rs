//! Every call to someone else's machine: providers that run models, callers' receivers, counters.

mod connection;

pub mod provider;

pub mod callback;

pub mod house;

pub mod counters;

pub mod health;

pub mod probe;

pub mod objects;

pub mod scanner;
