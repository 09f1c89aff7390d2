//! The dashboard: server-rendered pages, changed by forms, updated by server-sent events.
//!
//! `routes` is the table of all pages. `gate` checks the access that each route requires.

use axum::Router;

mod assets;

mod chart;

mod cookie;

mod csv;

mod csrf;

mod form_time;

mod gate;

mod security_headers;

mod live;

mod issued_link;

mod live_streams;

mod page_error;

mod operations;

mod page;

mod page_route;

mod people;

mod project;

mod read_audit;

mod routes;

mod access;

pub mod state;

mod text;

pub use gate::RequiredAccess;
pub use live_streams::LiveStreamLimits;
pub use people::setup::offer_setup;
pub use people::totp_secret::renew_totp_secrets;
pub use state::{
    ApiService, CallerIdentity, DashboardDeps, DashboardState, IdentityProvider, Options,
    SecondFactorPolicy, SignInPolicy,
};

/// Every route: its method, its path, and the access that it requires.
pub fn list_routes() -> Vec<(http::Method, &'static str, RequiredAccess)> {
    let table = routes::all_routes().into_iter();
    table
        .map(|route| (route.method, route.path, route.required_access))
        .collect()
}

/// The paths of changes that need a password or a code of the last ten minutes.
pub fn list_routes_with_recent_proof() -> Vec<&'static str> {
    let table = routes::all_routes().into_iter();
    let recent = table.filter(|route| route.needs_recent_proof);
    recent.map(|route| route.path).collect()
}

pub fn router(state: &DashboardState) -> Router {
    let pages = security_headers::with_security_headers(routes::router(state), state)
        .with_state(state.clone());
    state.set_router(pages.clone());
    pages
}
