//! `DELETE /anthropic/v1/messages/batches/{batch_id}`: hides a batch that has ended.
//!
//! Its cargo stay until the retention, because the ledger and other views refer to them.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use store::shard::dropin;

use super::error::AnthropicError;
use super::requested_batch::RequestedBatch;
use crate::dropin::batch_id::message_batch_id;
use crate::state::App;

pub(super) async fn delete(
    requested: RequestedBatch,
    State(app): State<App>,
) -> Result<Json<Value>, AnthropicError> {
    let shard = &app.shard_handle(requested.caller.berth)?.shard;
    let batch = requested.find_row(shard).await?;
    if batch.ended_at().is_none() {
        let message = "Only a batch that has ended can be deleted. Cancel it first.";
        return Err(AnthropicError::invalid(message));
    }
    let (project, now) = (requested.caller.project, shard.clock.now());
    dropin::hide(shard, project, requested.id, now).await?;
    let id = message_batch_id(requested.id);
    Ok(Json(json!({"id": id, "type": "message_batch_deleted"})))
}
