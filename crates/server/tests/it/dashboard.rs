//! The dashboard as a browser sees it: pages over HTTP, with cookies and CSRF tokens.

pub(crate) mod browser;

mod attacks;

mod audit;

mod callback_settings;

mod callbacks;

mod cargo;

mod access;

mod oidc;

mod oidc_server;

mod files;

mod form_input;

mod groups;

mod api_keys;

mod usage;

mod operations;

mod people;

mod recent_proof;

mod retention;

mod rows_read;

mod live;

mod second_factor;
