//! The cargo routes.

pub(crate) mod load;

mod file_references;

mod lane_choice;

mod request_features;

pub(crate) mod tracking;
