//! `GET /anthropic/v1/messages/batches/{batch_id}`: how far a batch is.

use axum::Json;
use axum::extract::State;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse as _, Response};

use super::batch_object::{ProcessingStatus, batch_object};
use super::error::AnthropicError;
use super::requested_batch::RequestedBatch;
use crate::state::App;

/// When to ask again.
const POLL_SECONDS: u32 = 10;

pub(super) async fn retrieve(
    requested: RequestedBatch,
    State(app): State<App>,
) -> Result<Response, AnthropicError> {
    let shard = &app.shard_handle(requested.caller.berth)?.shard;
    let batch = requested.find_row(shard).await?;
    let object = batch_object(&batch, &requested.origin);
    let is_ended = object.processing_status == ProcessingStatus::Ended;
    let mut response = Json(object).into_response();
    if !is_ended {
        response
            .headers_mut()
            .insert(RETRY_AFTER, POLL_SECONDS.into());
    }
    Ok(response)
}
