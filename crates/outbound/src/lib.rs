//! Every call to someone else's machine: providers that run models, and callers' receivers.

pub mod provider;

pub mod callback;
