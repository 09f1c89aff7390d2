//! A permit of a project for work that is cheap to ask for and costly to serve, and the error when
//! there is none.

use domain::concurrency_limit::OwnerPermit;
use domain::id::ProjectId;
use futures::{Stream, StreamExt as _};
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};

use crate::api_error::ApiError;

/// A request that counts, until it is dropped.
pub(crate) type ProjectPermit = OwnerPermit<ProjectId>;

/// The stream holds the permit until it is dropped.
pub(crate) fn hold_while_streaming<S: Stream>(
    stream: S,
    permit: ProjectPermit,
) -> impl Stream<Item = S::Item> {
    stream.map(move |item| {
        let _held = &permit;
        item
    })
}

/// 429: the project, or all projects together, do as much of this as they may.
pub(crate) fn too_many_at_once(what: &str) -> ApiError {
    let message = format!("Too many {what} at the same time. Try again when one has ended.");
    ApiError::with_text(StatusCode::TOO_MANY_REQUESTS, message)
        .with_header(RETRY_AFTER, HeaderValue::from_static("1"))
}
