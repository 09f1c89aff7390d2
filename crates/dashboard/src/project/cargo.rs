//! A project's cargo: the list, the page of one, loading one, sending a callback again.

mod body;

mod filter;

mod histogram;

pub(crate) mod list;

mod look;

pub(crate) mod new;

pub(crate) mod one;

mod pretty;

pub(crate) mod raw;

mod refusal;

pub(crate) mod resend;

mod spans;

mod story;

mod timeline;

mod window;
