//! The routes of a cargo.

pub(crate) mod load;

pub(crate) mod tracking;
