//! The cargo routes.

pub(crate) mod load;

mod file_references;

pub(crate) mod tracking;
