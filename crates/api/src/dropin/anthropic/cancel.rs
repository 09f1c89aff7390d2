//! `POST /anthropic/v1/messages/batches/{batch_id}/cancel`: cancels what no provider has.
//!
//! The group is sealed at once, so no further item is loaded. Workers cancel the loaded items, and
//! the unpacker stores the others as cancelled.

use axum::Json;
use axum::extract::State;
use store::shard::group;

use super::batch_object::{MessageBatch, ProcessingStatus, batch_object};
use super::error::AnthropicError;
use super::requested_batch::RequestedBatch;
use crate::state::App;

pub(super) async fn cancel(
    requested: RequestedBatch,
    State(app): State<App>,
) -> Result<Json<MessageBatch>, AnthropicError> {
    let shard = &app.shard_handle(requested.caller.berth)?.shard;
    let batch = requested.find_row(shard).await?;
    let object = batch_object(&batch, &requested.origin);
    if object.processing_status != ProcessingStatus::InProgress {
        return Ok(Json(object));
    }
    let (project, now) = (requested.caller.project, shard.clock.now());
    group::request_cancel(shard, project, requested.id, now).await?;
    app.dropins.created.notify_waiters();
    let batch = requested.find_row(shard).await?;
    Ok(Json(batch_object(&batch, &requested.origin)))
}
