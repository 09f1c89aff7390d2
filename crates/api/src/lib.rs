//! The HTTP API: the routes of the contract, in its order.

use axum::Router;
use axum::routing::{get, post};

mod auth;

mod body;

pub mod caller;

pub mod cargo;

mod check;

pub mod docs;

mod faults;

pub mod files;

pub mod harbour;

pub mod health;

pub mod keys;

mod lanes;

pub mod limits;

mod probe;

pub mod problem;

mod ready;

pub mod state;

mod trace;

mod writer;

pub use state::{App, Options, Parts};

/// Routes of others, with an id, one event in the log and two metrics for each request, as ours have.
pub fn traced(routes: Router) -> Router {
    trace::around(routes)
}

pub fn router(app: App) -> Router {
    let routes = Router::new()
        .route("/cargo/load", post(cargo::load::load))
        .route("/cargo/{cargo_id}/tracking", get(cargo::tracking::tracking))
        .merge(files::router())
        .route("/health", get(health::health))
        .route("/ready", get(ready::ready))
        .merge(docs::router())
        .method_not_allowed_fallback(problem::method_not_allowed)
        .fallback(problem::not_found);
    trace::around(routes).with_state(app)
}
