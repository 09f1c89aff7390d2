//! `/anthropic/v1`: Anthropic's Message Batches, for its SDKs and for tools that use them.

use axum::routing::{any, get, post};
use axum::{Extension, Router, middleware};
use domain::key_scope::KeyRight;

use crate::state::App;

mod batch_object;
mod body_reader;
mod cancel;
mod convert;
mod create;
mod delete;
mod error;
mod list;
mod models;
mod requested_batch;
mod result_line;
mod results;
mod retrieve;
mod shape;

pub(super) use convert::convert_item;

pub(crate) fn router() -> Router<App> {
    let (load, read) = (Extension(KeyRight::Load), Extension(KeyRight::Read));
    Router::new()
        .route(
            "/anthropic/v1/messages/batches",
            post(create::create)
                .route_layer(load)
                .merge(get(list::list).route_layer(read)),
        )
        .route(
            "/anthropic/v1/messages/batches/{batch_id}",
            get(retrieve::retrieve)
                .route_layer(read)
                .merge(axum::routing::delete(delete::delete).route_layer(load)),
        )
        .route(
            "/anthropic/v1/messages/batches/{batch_id}/cancel",
            post(cancel::cancel).route_layer(load),
        )
        .route(
            "/anthropic/v1/messages/batches/{batch_id}/results",
            get(results::results).route_layer(read),
        )
        .route("/anthropic/v1/models", get(models::list).route_layer(read))
        .route("/anthropic/{*path}", any(error::unknown_route))
        .route_layer(middleware::from_fn(shape::shape))
}
