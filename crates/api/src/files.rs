//! The Files routes: sessions, records and what becomes of them.
//!
//! Bytes never pass through here: callers send them to the store with grants
//! that we sign, and workers read them there. Routes and workers meet in rows.

mod change;
mod check;
mod complete;
mod content;
mod create;
mod cursor;
mod delete;
mod grant;
mod list;
mod parts;
mod record;
mod sought;

use axum::Router;
use axum::routing::{get, post};

use crate::state::App;

/// What the pages of `/docs` show as refused.
pub(crate) mod checked {
    pub(crate) use super::check::{change, complete, create, force, listing, refresh};
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
        .route("/files/{file_id}/parts", post(parts::parts))
        .route("/files/{file_id}/content", get(content::content))
}
