//! The dashboard: pages for people, rendered here, changed by forms, live by server-sent events.
//!
//! `routes` is the table of all there is; `gate` lets in whom each row allows.

use axum::Router;

mod assets;

mod chart;

mod cookie;

mod csv;

mod form;

mod gate;

mod headers;

mod live;

mod no;

mod operations;

mod page;

mod people;

mod project;

mod routes;

mod seat;

pub mod state;

mod text;

pub use gate::Needs;
pub use people::setup::offer as offer_setup;
pub use state::{Acting, Api, Desk, House, Options, Parts};

/// Every route: its method, its path, and whom it lets in.
pub fn listed() -> Vec<(http::Method, &'static str, Needs)> {
    let table = routes::table().into_iter();
    table
        .map(|route| (route.method, route.path, route.needs))
        .collect()
}

pub fn router(desk: &Desk) -> Router {
    let pages = headers::around(routes::router(desk), desk).with_state(desk.clone());
    desk.keep_pages(pages.clone());
    pages
}
