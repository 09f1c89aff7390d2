//! `GET /cargo/{cargo_id}/tracking`: the status and the result of a cargo.

use std::time::Duration;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse as _, Response};
use chrono::TimeDelta;
use domain::cargo;
use domain::id::{Berth, CargoId, ProjectId};
use domain::outcome::ReportedUsage;
use domain::response_shape::ResponseShape;
use domain::route::InferenceMode;
use domain::saving::Saving;
use domain::waiting_status;
use store::shard::tracking::{self, StoredOutcome, TrackedCallback, TrackedCargo};
use tokio::time::Instant;
use wire::completion::UsageBody;
use wire::timestamp::WireTimestamp;
use wire::tracking::{
    CallbackTrackingBody, CargoStatusBody, CostBody, RouteBody, TrackingResponse, WaitingBody,
    raw_json,
};

use crate::api_error::ApiError;
use crate::auth::LimitedCaller;
use crate::cargo::cargo_path::parse_cargo_id;
use crate::state::{App, ShardHandle};
use crate::wait_query::parse_wait;
use crate::waiters::{FULL_RETRY_SECONDS, WaitEnd, WaitMilestone, WaitTime};

pub(crate) async fn tracking(
    LimitedCaller(caller): LimitedCaller,
    State(app): State<App>,
    path: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, ApiError> {
    let wait = parse_wait(&uri, &headers)?;
    let cargo = parse_cargo_id(path, &caller)?;
    let reader = RecordReader::new(&app, caller.berth, caller.project)?;
    if wait.duration.is_zero() {
        return Ok(Json(reader.read(cargo).await?).into_response());
    }
    let deadline = Instant::now() + wait.duration.min(app.max_wait);
    let deadline = reader.handle.waiters.round_deadline(deadline);
    long_poll(&reader, cargo, wait.milestone, deadline).await
}

/// Answers when the cargo has reached the milestone, and at the deadline at the latest.
async fn long_poll(
    reader: &RecordReader<'_>,
    cargo: CargoId,
    milestone: WaitMilestone,
    deadline: Instant,
) -> Result<Response, ApiError> {
    let waiters = &reader.handle.waiters;
    let waiter = waiters.wait_for_cargo(reader.project, &[cargo], milestone);
    let mut record = reader.read_with_others(cargo).await?;
    let Some(waiter) = waiter else {
        let is_pending = !is_reached(&record, milestone);
        let mut response = Json(record).into_response();
        if is_pending {
            let seconds = FULL_RETRY_SECONDS.into();
            response.headers_mut().insert(RETRY_AFTER, seconds);
        }
        return Ok(response);
    };
    let (mut time_waited, mut is_last) = (Duration::ZERO, false);
    while !is_last && !is_reached(&record, milestone) {
        let began = Instant::now();
        is_last = waiter.wait_until(deadline).await != WaitEnd::Changed;
        time_waited += began.elapsed();
        record = reader.read_with_others(cargo).await?;
    }
    let mut response = Json(record).into_response();
    response.extensions_mut().insert(WaitTime(time_waited));
    Ok(response)
}

fn is_reached(record: &TrackingResponse, milestone: WaitMilestone) -> bool {
    let is_last_status = match record.status {
        CargoStatusBody::Pending | CargoStatusBody::Batched | CargoStatusBody::Processing => {
            return false;
        }
        CargoStatusBody::Completed => record.callback.is_none(),
        CargoStatusBody::Delivered | CargoStatusBody::Undeliverable => true,
    };
    match milestone {
        WaitMilestone::Completed => true,
        WaitMilestone::Delivered => is_last_status,
    }
}

/// Reads tracking records of one project.
#[derive(Debug)]
pub(super) struct RecordReader<'a> {
    pub(super) handle: &'a ShardHandle,
    pub(super) project: ProjectId,
    linger: TimeDelta,
}

impl<'a> RecordReader<'a> {
    pub(super) fn new(app: &'a App, berth: Berth, project: ProjectId) -> Result<Self, ApiError> {
        Ok(Self {
            handle: app.shard_handle(berth)?,
            project,
            linger: app.linger,
        })
    }

    async fn read(&self, cargo: CargoId) -> Result<TrackingResponse, ApiError> {
        let record = self.find(cargo).await?;
        record.ok_or_else(ApiError::cargo_not_found)
    }

    /// The same, and one statement may read for several requests.
    async fn read_with_others(&self, cargo: CargoId) -> Result<TrackingResponse, ApiError> {
        let (shard, waiters) = (&self.handle.shard, &self.handle.waiters);
        let tracked = waiters.read_record(shard, self.project, cargo).await?;
        let tracked = tracked.ok_or_else(ApiError::cargo_not_found)?;
        Ok(self.describe(cargo, tracked))
    }

    pub(super) async fn find(&self, cargo: CargoId) -> Result<Option<TrackingResponse>, ApiError> {
        let tracked = tracking::find(&self.handle.shard, self.project, cargo).await?;
        Ok(tracked.map(|tracked| self.describe(cargo, tracked)))
    }

    fn describe(&self, cargo: CargoId, tracked: TrackedCargo) -> TrackingResponse {
        let waiting = tracked.completed_at.is_none().then(|| {
            let now = self.handle.shard.clock.now();
            tracked.progress.waiting_status(self.linger, now)
        });
        tracking_record(cargo, tracked, waiting)
    }
}

fn tracking_record(
    cargo: CargoId,
    tracked: TrackedCargo,
    waiting: Option<waiting_status::WaitingStatus>,
) -> TrackingResponse {
    let route = taken_route(&tracked);
    let outcome = tracked.outcome;
    let success = outcome.as_ref().map(|outcome| outcome.success);
    let usage = outcome
        .as_ref()
        .map(|outcome| reported_usage(outcome, tracked.response_shape));
    let charged = outcome.as_ref().map(|outcome| outcome.charged);
    let saving = outcome.as_ref().and_then(|outcome| {
        let realtime = outcome.realtime?;
        Some(Saving::between(realtime, outcome.charged))
    });
    let is_erased = tracked.erased_at.is_some();
    let (response, error, error_code) = match outcome {
        Some(outcome) if is_erased => (None, None, outcome.failure_code),
        Some(outcome) if outcome.success => (raw_json(outcome.body), None, None),
        Some(outcome) => (
            None,
            Some(String::from_utf8_lossy(&outcome.body).into_owned()),
            outcome.failure_code,
        ),
        None => (None, None, None),
    };
    TrackingResponse {
        cargo_id: cargo.to_string(),
        status: tracked.status.into(),
        model: tracked.model,
        kind: tracked.kind.into(),
        attempt: tracked.attempt,
        created_at: WireTimestamp(tracked.created_at),
        batched_at: tracked.batched_at.map(WireTimestamp),
        processing_at: tracked.processing_at.map(WireTimestamp),
        completed_at: tracked.completed_at.map(WireTimestamp),
        deadline_at: WireTimestamp(cargo::deadline_of(tracked.created_at, tracked.deadline_at)),
        success,
        response,
        error,
        error_code,
        usage,
        cost: CostBody::in_nano_dollars(tracked.held, charged, saving),
        callback: tracked.callback.map(callback_body),
        waiting: waiting.map(|waiting| WaitingBody {
            code: waiting.code.as_str(),
            reason: waiting.reason,
            since: WireTimestamp(waiting.since),
            expected_at: waiting.expected_at.map(WireTimestamp),
        }),
        metadata: tracked.metadata.and_then(raw_json),
        erased_at: tracked.erased_at.map(WireTimestamp),
        warnings: tracked.warnings.and_then(raw_json),
        route,
        group_id: tracked.group.map(|group| group.to_string()),
        custom_id: tracked.custom_id,
        position: tracked.position,
        cancel_requested_at: tracked.cancel_requested_at.map(WireTimestamp),
    }
}

/// A request of the contract gets the contract's two counts.
fn reported_usage(outcome: &StoredOutcome, shape: ResponseShape) -> UsageBody {
    let usage = if shape.details_usage() {
        ReportedUsage::detailed(outcome.buckets)
    } else {
        ReportedUsage::plain(outcome.usage)
    };
    UsageBody::from(usage)
}

/// The way of a cargo, if its load had a deadline or it goes by flex.
fn taken_route(tracked: &TrackedCargo) -> Option<RouteBody> {
    let served = tracked.outcome.as_ref().and_then(|outcome| outcome.served);
    let via = served.unwrap_or(tracked.progress.via);
    let is_shown = tracked.deadline_at.is_some()
        || tracked.progress.via == InferenceMode::Flex
        || via == InferenceMode::Flex;
    is_shown.then(|| RouteBody {
        via: via.as_str(),
        reason: tracked.route_reason.clone(),
    })
}

pub(crate) fn callback_body(callback: TrackedCallback) -> CallbackTrackingBody {
    CallbackTrackingBody {
        url: callback.url,
        attempts: callback.attempts,
        last_attempt_at: callback.last_attempt_at.map(WireTimestamp),
        last_status_code: callback.last_status_code,
        last_error: callback.last_error,
        next_attempt_at: callback.next_attempt_at.map(WireTimestamp),
        delivered_at: callback.delivered_at.map(WireTimestamp),
    }
}
