//! `POST /groups/{group_id}/cancel`: seals a group and cancels its cargo.
//!
//! Workers cancel the cargo after the answer; the counts of the group show how far they are.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use store::shard::group;

use crate::api_error::ApiError;
use crate::groups::record;
use crate::groups::requested_group::RequestedGroup;
use crate::state::App;

pub(crate) async fn cancel(
    requested: RequestedGroup,
    State(app): State<App>,
) -> Result<Response, ApiError> {
    let shard = &app.shard_handle(requested.caller.berth)?.shard;
    let (project, now) = (requested.caller.project, shard.clock.now());
    let group = group::request_cancel(shard, project, requested.id, now).await?;
    let group = group.ok_or_else(ApiError::group_not_found)?;
    let response = record::full_record(shard, group).await?;
    Ok((StatusCode::ACCEPTED, Json(response)).into_response())
}
