//! `POST /groups/{group_id}/seal`: no new cargo is added from then on.

use axum::Json;
use axum::extract::State;
use store::shard::group::{self, SealResult};
use wire::group::GroupResponse;

use crate::api_error::ApiError;
use crate::groups::requested_group::RequestedGroup;
use crate::groups::{errors, record, validation};
use crate::request_body::BufferedBody;
use crate::state::App;

pub(crate) async fn seal(
    requested: RequestedGroup,
    State(app): State<App>,
    BufferedBody(body): BufferedBody,
) -> Result<Json<GroupResponse>, ApiError> {
    let total = validation::parse_seal(&body)?;
    let shard = &app.shard_handle(requested.caller.berth)?.shard;
    let (project, now) = (requested.caller.project, shard.clock.now());
    match group::seal(shard, project, requested.id, total, now).await? {
        SealResult::Sealed(group) => Ok(Json(record::full_record(shard, group).await?)),
        SealResult::NotFound => Err(ApiError::group_not_found()),
        SealResult::OtherTotal { total: counted } => Err(errors::total_mismatch(total, counted)),
    }
}
