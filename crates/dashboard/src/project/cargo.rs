//! A project's cargo: the list, the page of one cargo, loading, cancelling, and resending its
//! callback.

mod body;

pub(crate) mod cancel;

mod filter;

mod histogram;

pub(crate) mod list;

mod search;

pub(crate) mod load_form;

pub(crate) mod detail;

mod pretty_json;

mod turn_parts;

pub(crate) mod downloads;

mod load_response;

pub(crate) mod resend;

mod search_spans;

mod events;

mod timeline;

mod time_window;
