//! `/openai/v1`: files, batches and models in `OpenAI`'s format.
//!
//! An input file is a parcel, and a batch is a group. Output and error files are no stored files:
//! they are written from the results of the group when they are read.

mod answer;
mod batch_object;
mod batches;
mod caller;
mod content;
mod convert_item;
mod create_batch;
mod endpoint;
mod envelope;
mod file_check;
mod file_id;
mod file_object;
mod files;
mod form_body;
mod list_query;
mod models;
mod options;
mod request;
mod result_line;
mod upload;
mod upload_form;

use std::future::{Ready, ready};

use axum::routing::{get, post};
use axum::{Extension, Router};
use domain::key_scope::KeyRight;
use http::StatusCode;

pub(crate) use convert_item::convert_item;

use crate::api_error::OpenAiApiError;
use crate::state::App;

/// The routes below `/openai/v1`.
pub(crate) fn router() -> Router<App> {
    let (load, read) = (Extension(KeyRight::Load), Extension(KeyRight::Read));
    Router::new()
        .route(
            "/openai/v1/files",
            post(upload::upload)
                .route_layer(load)
                .merge(get(files::list).route_layer(read)),
        )
        .route(
            "/openai/v1/files/{file_id}",
            get(files::retrieve)
                .route_layer(read)
                .merge(axum::routing::delete(files::delete).route_layer(load)),
        )
        .route(
            "/openai/v1/files/{file_id}/content",
            get(files::content).route_layer(read),
        )
        .route(
            "/openai/v1/batches",
            post(create_batch::create_batch)
                .route_layer(load)
                .merge(get(batches::list).route_layer(read)),
        )
        .route(
            "/openai/v1/batches/{batch_id}",
            get(batches::retrieve).route_layer(read),
        )
        .route(
            "/openai/v1/batches/{batch_id}/cancel",
            post(batches::cancel).route_layer(load),
        )
        .route("/openai/v1/models", get(models::list).route_layer(read))
        .route(
            "/openai/v1/models/{model}",
            get(models::retrieve).route_layer(read),
        )
        .route("/openai/{*rest}", axum::routing::any(not_found))
}

/// Other routes of the API are not served, such as answers in real time.
fn not_found() -> Ready<OpenAiApiError> {
    let message = "Longshore serves files, batches and models of this API. Answers in real time \
                   are not served.";
    let (status, code) = (StatusCode::NOT_FOUND, "unknown_url");
    ready(OpenAiApiError::with_status(status, None, code, message))
}
