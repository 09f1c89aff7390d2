//! The cargo routes.

pub(crate) mod bulk;

pub(crate) mod cancel;

mod cargo_path;

pub(crate) mod estimate;

pub(crate) mod load;

mod load_errors;

pub(crate) mod attempts;

pub(crate) mod list;

pub(crate) mod list_query;

pub(crate) mod resend;

mod lane_choice;

pub(crate) mod item_load;

mod load_check;

mod membership;

pub(crate) mod request_features;

pub(crate) mod tracking;

pub(crate) mod wait;

pub(crate) mod wait_request;
