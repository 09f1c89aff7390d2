//! The Files API: upload sessions and file records.
//!
//! File bytes never pass through the API. Callers send them to the object store with
//! presigned grants, and workers read them there. Routes and workers share only rows.
//! The routes take their own state, so that the API's state can contain it.

mod change;
mod complete;
mod content;
mod create;
mod delete;
pub(crate) mod errors;
mod file_caller;
mod list;
mod presigned_grant;
mod record;
mod refresh_grants;
mod requested_file;
mod service;
mod state;
mod validation;
mod verdict_waiters;

use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRef, FromRequest, FromRequestParts};
use axum::routing::{get, post};

use crate::api_error::ApiError;
use crate::caller::Caller;
use crate::request_body::BufferedBody;

pub use service::{FileService, FileServiceOptions};
pub(crate) use state::FilesState;

/// For the error examples in `/docs`.
pub(crate) mod checked {
    pub(crate) use super::validation::{
        parse_change, parse_complete, parse_create, parse_force, parse_list_query, parse_refresh,
    };
}

pub(crate) fn router<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Arc<FilesState>: FromRef<S>,
    Caller: FromRequestParts<S, Rejection = ApiError>,
    BufferedBody: FromRequest<S, Rejection = ApiError>,
{
    Router::new()
        .route("/files", post(create::create).get(list::list))
        .route(
            "/files/{file_id}",
            get(record::get)
                .patch(change::change)
                .delete(delete::delete),
        )
        .route("/files/{file_id}/complete", post(complete::complete))
        .route(
            "/files/{file_id}/parts",
            post(refresh_grants::refresh_grants),
        )
        .route("/files/{file_id}/content", get(content::content))
}
