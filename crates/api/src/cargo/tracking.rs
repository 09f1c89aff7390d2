//! `GET /cargo/{cargo_id}/tracking`: the status and the result of a cargo.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use domain::cargo;
use domain::id::CargoId;
use domain::outcome::ReportedUsage;
use domain::response_shape::ResponseShape;
use domain::route::InferenceMode;
use domain::saving::Saving;
use domain::waiting_status;
use store::shard::tracking::{self, StoredOutcome, TrackedCargo};
use wire::completion::UsageBody;
use wire::timestamp::WireTimestamp;
use wire::tracking::{
    CallbackTrackingBody, CostBody, RouteBody, TrackingResponse, WaitingBody, raw_json,
};

use crate::api_error::ApiError;
use crate::auth::LimitedCaller;
use crate::state::App;

pub(crate) async fn tracking(
    LimitedCaller(caller): LimitedCaller,
    State(app): State<App>,
    path: Result<Path<String>, PathRejection>,
) -> Result<Json<TrackingResponse>, ApiError> {
    // An invalid id, or one of another berth, is not found without a query. A path that is not
    // UTF-8 has no valid id.
    let cargo = path.ok().and_then(|Path(id)| id.parse::<CargoId>().ok());
    let cargo = cargo.filter(|cargo| cargo.berth() == caller.berth);
    let cargo = cargo.ok_or_else(ApiError::cargo_not_found)?;
    let handle = app.shard_handle(caller.berth)?;
    let tracked = tracking::find(&handle.shard, caller.project, cargo).await?;
    let tracked = tracked.ok_or_else(ApiError::cargo_not_found)?;
    let now = handle.shard.clock.now();
    let waiting = match tracked.completed_at {
        None => Some(tracked.progress.waiting_status(app.linger, now)),
        Some(_) => None,
    };
    Ok(Json(tracking_record(cargo, tracked, waiting)))
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
        callback: tracked.callback.map(|callback| CallbackTrackingBody {
            url: callback.url,
            attempts: callback.attempts,
            last_attempt_at: callback.last_attempt_at.map(WireTimestamp),
            last_status_code: callback.last_status_code,
            last_error: callback.last_error,
            next_attempt_at: callback.next_attempt_at.map(WireTimestamp),
            delivered_at: callback.delivered_at.map(WireTimestamp),
        }),
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
    }
}

/// A request of the contract gets the contract's two counts.
fn reported_usage(outcome: &StoredOutcome, shape: ResponseShape) -> UsageBody {
    let usage = if shape.is_extended {
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
