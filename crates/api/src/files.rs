//! The Files routes: upload sessions and file records.
//!
//! File bytes never pass through the API. Callers send them to the object store with
//! presigned grants, and workers read them there. Routes and workers share only rows.

mod change;
mod complete;
mod content;
mod create;
mod cursor;
mod delete;
mod list;
mod presigned_grant;
mod record;
mod refresh_grants;
mod requested_file;
mod validation;

use axum::Router;
use axum::routing::{get, post};

use crate::state::App;

/// For the error examples in `/docs`.
pub(crate) mod checked {
    pub(crate) use super::validation::{
        parse_change, parse_complete, parse_create, parse_force, parse_list_query, parse_refresh,
    };
}

pub(crate) fn router() -> Router<App> {
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
