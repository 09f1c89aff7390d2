//! `GET /groups/{group_id}`, and the record that several routes return.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use domain::time::Timestamp;
use http::Uri;
use store::Shard;
use store::shard::group::{self, GroupFailure, GroupRow};
use store::view::groups;
use wire::group::{GroupCostBody, GroupFailureBody, GroupResponse};
use wire::timestamp::WireTimestamp;
use wire::tracking::raw_json;

use crate::api_error::ApiError;
use crate::cargo::tracking::callback_body;
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
    let record = full_record(&handle.shard, group).await?;
    let mut response = Json(record).into_response();
    waiter.add_retry_after(response.headers_mut());
    response.extensions_mut().insert(WaitTime(waiter.waited()));
    Ok(response)
}

/// The record with its expected end, its most frequent failures and its callback.
pub(super) async fn full_record(shard: &Shard, group: GroupRow) -> Result<GroupResponse, ApiError> {
    let failures = if group.counts.failed + group.counts.cancelled > 0 {
        group::failures(shard, group.id, MAX_SHOWN_FAILURES).await?
    } else {
        Vec::new()
    };
    let failures = failures.into_iter().map(failure_body).collect();
    let callback = group::find_callback(shard, &group).await?;
    let expected_at = expected_end(shard, &group).await?;
    Ok(GroupResponse {
        failures: Some(failures),
        callback: callback.map(callback_body),
        expected_at: expected_at.map(WireTimestamp),
        ..group_response(group)
    })
}

/// By the turnaround of recent batches. It is looked up only while something is unfinished.
async fn expected_end(shard: &Shard, group: &GroupRow) -> Result<Option<Timestamp>, ApiError> {
    if group.times.completed_at.is_some() || group.counts.unfinished() == 0 {
        return Ok(None);
    }
    let found = groups::find(shard, group.project, group.id).await?;
    Ok(found.and_then(|found| found.group.pace().expected_end(shard.clock.now())))
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
        expected_at: None,
        counts: group.counts.into(),
        usage: group.usage.into(),
        cost: GroupCostBody::in_nano_dollars(group.held, group.charged, group.saving),
        failures: None,
        callback: None,
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
