//! Groups of cargo: creating and sealing them, their progress and their results.

mod cancel;
mod create;
mod cursor;
pub(crate) mod errors;
mod group_wait;
mod list;
mod query;
mod record;
mod requested_group;
mod results;
mod seal;
mod validation;

use axum::routing::{get, post};
use axum::{Extension, Router};
use domain::key_scope::KeyRight;

use crate::state::App;

/// For the error examples in `/docs`.
pub(crate) mod checked {
    pub(crate) use super::query::{parse_list_query, parse_results_query, parse_wait};
    pub(crate) use super::validation::{parse_create, parse_seal};
}

pub(crate) fn router() -> Router<App> {
    let (load, read) = (Extension(KeyRight::Load), Extension(KeyRight::Read));
    Router::new()
        .route(
            "/groups",
            post(create::create)
                .route_layer(load)
                .merge(get(list::list).route_layer(read)),
        )
        .route("/groups/{group_id}", get(record::get).route_layer(read))
        .route(
            "/groups/{group_id}/results",
            get(results::results).route_layer(read),
        )
        .route(
            "/groups/{group_id}/seal",
            post(seal::seal).route_layer(load),
        )
        .route(
            "/groups/{group_id}/cancel",
            post(cancel::cancel).route_layer(load),
        )
}
