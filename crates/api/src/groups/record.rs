//! `GET /groups/{group_id}`, and the record that several routes return.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::Uri;
use store::Shard;
use store::shard::group::{self, GroupFailure, GroupRow};
use wire::group::{GroupCostBody, GroupFailureBody, GroupResponse};
use wire::timestamp::WireTimestamp;
use wire::tracking::raw_json;

use crate::api_error::ApiError;
use crate::groups::group_wait::GroupWaiter;
use crate::groups::query;
use crate::groups::requested_group::RequestedGroup;
use crate::state::App;
use crate::waiters::WaitTime;

const MAX_SHOWN_FAILURES: u32 = 10;

/// With `wait`, the answer comes when the group is completed, or when the time is over.
pub(crate) async fn get(
    requested: RequestedGroup,
    State(app): State<App>,
    uri: Uri,
) -> Result<Response, ApiError> {
    let wait = query::parse_wait(&uri)?.min(app.max_wait);
    let handle = app.shard_handle(requested.caller.berth)?;
    let project = requested.caller.project;
    let mut waiter = GroupWaiter::register(handle, project, requested.id, wait);
    let mut group = requested.find_row(&handle.shard).await?;
    while group.times.completed_at.is_none() && waiter.wait().await {
        let _turn = handle.waiters.acquire_read_turn().await;
        group = requested.find_row(&handle.shard).await?;
    }
    let record = with_failures(&handle.shard, group).await?;
    let mut response = Json(record).into_response();
    waiter.add_retry_after(response.headers_mut());
    response.extensions_mut().insert(WaitTime(waiter.waited()));
    Ok(response)
}

/// The record with its most frequent failures.
pub(super) async fn with_failures(
    shard: &Shard,
    group: GroupRow,
) -> Result<GroupResponse, ApiError> {
    let failures = if group.counts.failed + group.counts.cancelled > 0 {
        group::failures(shard, group.id, MAX_SHOWN_FAILURES).await?
    } else {
        Vec::new()
    };
    let failures = failures.into_iter().map(failure_body).collect();
    Ok(GroupResponse {
        failures: Some(failures),
        ..group_response(group)
    })
}

pub(super) fn group_response(group: GroupRow) -> GroupResponse {
    let (status, times) = (group.status(), group.times);
    GroupResponse {
        group_id: group.id.to_string(),
        name: group.name,
        status: status.into(),
        created_at: WireTimestamp(times.created_at),
        sealed_at: times.sealed_at.map(WireTimestamp),
        cancel_requested_at: times.cancel_requested_at.map(WireTimestamp),
        completed_at: times.completed_at.map(WireTimestamp),
        counts: group.counts.into(),
        usage: group.usage.into(),
        cost: GroupCostBody::in_nano_dollars(group.held, group.charged, group.saving),
        failures: None,
        metadata: group.metadata.and_then(raw_json),
        existing: None,
    }
}

fn failure_body(failure: GroupFailure) -> GroupFailureBody {
    GroupFailureBody {
        error: failure.label,
        count: failure.count,
        cargo_id: failure.cargo.to_string(),
    }
}
