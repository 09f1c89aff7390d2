//! `POST /groups`: creates a group, or returns the group that has its name.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use domain::cargo_group::GroupName;
use domain::id::GroupId;
use http::StatusCode;
use rand::RngExt as _;
use store::shard::group::{self, GroupCreation, NewGroup};
use wire::group::GroupResponse;

use crate::api_error::ApiError;
use crate::auth::LimitedCaller;
use crate::groups::{errors, record, validation};
use crate::request_body::BufferedBody;
use crate::state::App;

pub(crate) async fn create(
    LimitedCaller(caller): LimitedCaller,
    State(app): State<App>,
    BufferedBody(body): BufferedBody,
) -> Result<Response, ApiError> {
    let requested = validation::parse_create(&body, &app.rules)?;
    let shard = &app.shard_handle(caller.berth)?.shard;
    let now = shard.clock.now();
    let id = GroupId::new(now, caller.berth, rand::rng().random());
    let name = match requested.name {
        Some(name) => name,
        None => GroupName::new(&id.to_string()).map_err(ApiError::internal)?,
    };
    let new = NewGroup {
        id,
        organization: caller.organization,
        project: caller.project,
        name,
        metadata: requested.metadata,
        callback: requested.callback,
    };
    let (status, existing, group) = match group::create(shard, &new, now).await? {
        GroupCreation::Created(group) => (StatusCode::CREATED, false, group),
        GroupCreation::Existing(group) => (StatusCode::OK, true, group),
        GroupCreation::TooMany => return Err(errors::too_many_groups()),
    };
    let response = GroupResponse {
        existing: Some(existing),
        ..record::group_response(group)
    };
    Ok((status, Json(response)).into_response())
}
