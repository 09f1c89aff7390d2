//! The HTTP API: the routes of the contract, in its order.

use axum::routing::{get, post};
use axum::{Extension, Router};
use domain::key_scope::KeyRight;

pub mod audit;

mod audit_log_reader;

mod auth;

mod request_body;

pub mod caller;

pub mod cargo;

mod load_validation;

pub mod docs;

mod validation_errors;

mod json_budget;

pub mod files;

pub mod health;

pub mod api_keys;

mod lane_id_cache;

mod lane_state_cache;

pub mod node_heartbeat;

pub mod rate_limit;

mod shard_probe;

pub mod api_error;

mod ready;

pub mod state;

mod trace;

mod group_commit;

pub use state::{App, AppDependencies, Options};

/// Gives another crate's routes what the API's own routes have: for each request an id, one log
/// event and two metrics.
pub fn with_request_tracing(routes: Router) -> Router {
    trace::trace_requests(routes)
}

pub fn router(app: App) -> Router {
    let routes = Router::new()
        .route(
            "/cargo/load",
            post(cargo::load::load).route_layer(Extension(KeyRight::Load)),
        )
        .route(
            "/cargo/{cargo_id}/tracking",
            get(cargo::tracking::tracking).route_layer(Extension(KeyRight::Read)),
        )
        .merge(files::router().route_layer(Extension(KeyRight::Files)))
        .route("/audit", get(audit::list))
        .route("/health", get(health::health))
        .route("/ready", get(ready::ready))
        .merge(docs::router())
        .method_not_allowed_fallback(api_error::method_not_allowed)
        .fallback(api_error::not_found);
    trace::trace_requests(routes).with_state(app)
}
