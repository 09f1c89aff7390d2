//! The HTTP API: the routes of the contract, in its order.

use axum::routing::{get, post};
use axum::{Extension, Router};
use domain::key_scope::KeyRight;

pub mod audit;

mod audit_log_reader;

mod auth;

mod cursor;

mod identity_reader;

mod key_recheck;

mod models;

mod request_body;

mod whoami;

mod request_id;

mod public_origin;

mod batch_callers;

mod item_tries;

mod dropin_limits;

mod project_permit;

mod result_stream_limit;

mod dropin_state;

mod dropin;

pub mod caller;

pub mod cargo;

mod load_validation;

pub mod docs;

mod validation_errors;

mod json_budget;

pub mod files;

mod groups;

pub mod health;

pub mod api_keys;

mod lane_id_cache;

mod lane_state_cache;

mod usage_profile_cache;

pub mod node_heartbeat;

pub mod rate_limit;

mod shard_probe;

pub mod api_error;

mod ready;

pub mod state;

mod request_span;

mod trace;

mod wait_query;

mod waiters;

mod group_commit;

mod listen;

mod listener_hub;

pub use dropin::unpacker::{spawn_unpackers, unpack_dropins};
pub use dropin_state::DropinOptions;
pub use public_origin::PublicOrigin;
pub use state::{App, AppDependencies, Options};
pub use waiters::WaitOptions;

/// Gives another crate's routes what the API's own routes have: for each request an id, one log
/// event and two metrics.
pub fn with_request_tracing(routes: Router) -> Router {
    trace::trace_requests(routes, None)
}

pub fn router(app: App) -> Router {
    let routes = Router::new()
        .route(
            "/cargo/load",
            post(cargo::load::load).route_layer(Extension(KeyRight::Load)),
        )
        .route(
            "/cargo",
            get(cargo::list::list).route_layer(Extension(KeyRight::Read)),
        )
        .route(
            "/cargo/bulk",
            post(cargo::bulk::bulk).route_layer(Extension(KeyRight::Load)),
        )
        .route(
            "/cargo/estimate",
            post(cargo::estimate::estimate).route_layer(Extension(KeyRight::Load)),
        )
        .route(
            "/cargo/{cargo_id}/tracking",
            get(cargo::tracking::tracking).route_layer(Extension(KeyRight::Read)),
        )
        .route(
            "/cargo/{cargo_id}/attempts",
            get(cargo::attempts::attempts).route_layer(Extension(KeyRight::Read)),
        )
        .route(
            "/cargo/{cargo_id}/resend",
            post(cargo::resend::resend).route_layer(Extension(KeyRight::Load)),
        )
        .route(
            "/models",
            get(models::list).route_layer(Extension(KeyRight::Read)),
        )
        .route(
            "/whoami",
            get(whoami::whoami).route_layer(Extension(KeyRight::Read)),
        )
        .route(
            "/cargo/wait",
            post(cargo::wait::wait).route_layer(Extension(KeyRight::Read)),
        )
        .route(
            "/cargo/{cargo_id}/cancel",
            post(cargo::cancel::cancel).route_layer(Extension(KeyRight::Load)),
        )
        .merge(groups::router())
        .merge(listen::router())
        .merge(files::router().route_layer(Extension(KeyRight::Files)))
        .route("/audit", get(audit::list))
        .route("/health", get(health::health))
        .route("/ready", get(ready::ready))
        .merge(docs::router())
        .merge(dropin_routes(&app))
        .method_not_allowed_fallback(api_error::method_not_allowed)
        .fallback(api_error::not_found);
    trace::trace_requests(routes, app.request_tracer.clone()).with_state(app)
}

/// The formats of other providers. Their pages describe them, not `/openapi.json`.
fn dropin_routes(app: &App) -> Router<App> {
    if !app.dropins.options.is_enabled {
        return Router::new();
    }
    dropin::anthropic::router().merge(dropin::openai::router())
}
