//! The routes of a cargo.

pub(crate) mod load;

mod reference;

pub(crate) mod tracking;
