//! `GET /cargo/{cargo_id}/tracking`: where a cargo stands.

use axum::Json;
use axum::extract::{Path, State};
use domain::cargo;
use domain::id::CargoId;
use domain::saving::Saving;
use domain::waiting;
use store::shard::tracking::{self, Tracked};
use wire::completion::Usage;
use wire::moment::Moment;
use wire::tracking::{Callback, Cost, Tracking, Waiting, stored};

use crate::caller::Caller;
use crate::problem::Problem;
use crate::state::App;

pub(crate) async fn tracking(
    caller: Caller,
    State(app): State<App>,
    Path(cargo): Path<String>,
) -> Result<Json<Tracking>, Problem> {
    // What is no id, or lies in another berth, is not found without a look.
    let cargo = cargo
        .parse::<CargoId>()
        .map_err(|_| Problem::cargo_not_found())?;
    if cargo.berth() != caller.berth {
        return Err(Problem::cargo_not_found());
    }
    let quay = app.quay(caller.berth)?;
    let tracked = tracking::find(&quay.shard, caller.project, cargo).await?;
    let tracked = tracked.ok_or_else(Problem::cargo_not_found)?;
    let now = quay.shard.clock.now();
    let waiting = match tracked.completed_at {
        None => Some(tracked.way.waiting(app.linger, now)),
        Some(_) => None,
    };
    Ok(Json(record(cargo, tracked, waiting)))
}

fn record(cargo: CargoId, tracked: Tracked, waiting: Option<waiting::Waiting>) -> Tracking {
    let outcome = tracked.outcome;
    let success = outcome.as_ref().map(|outcome| outcome.success);
    let usage = outcome.as_ref().map(|outcome| Usage::from(outcome.usage));
    let charged = outcome.as_ref().map(|outcome| outcome.charged);
    let saving = outcome.as_ref().and_then(|outcome| {
        let realtime = outcome.realtime?;
        Some(Saving::between(realtime, outcome.charged))
    });
    let (response, error) = match outcome {
        Some(outcome) if outcome.success => (stored(outcome.body), None),
        Some(outcome) => (
            None,
            Some(String::from_utf8_lossy(&outcome.body).into_owned()),
        ),
        None => (None, None),
    };
    Tracking {
        cargo_id: cargo.to_string(),
        status: tracked.status.into(),
        model: tracked.model,
        kind: tracked.kind.into(),
        attempt: tracked.attempt,
        created_at: Moment(tracked.created_at),
        batched_at: tracked.batched_at.map(Moment),
        processing_at: tracked.processing_at.map(Moment),
        completed_at: tracked.completed_at.map(Moment),
        deadline_at: Moment(cargo::deadline(tracked.created_at)),
        success,
        response,
        error,
        usage,
        cost: Cost::dollars(tracked.held, charged, saving),
        callback: tracked.callback.map(|callback| Callback {
            url: callback.url,
            attempts: callback.attempts,
            last_attempt_at: callback.last_attempt_at.map(Moment),
            last_status_code: callback.last_status_code,
            last_error: callback.last_error,
            next_attempt_at: callback.next_attempt_at.map(Moment),
            delivered_at: callback.delivered_at.map(Moment),
        }),
        waiting: waiting.map(|waiting| Waiting {
            reason: waiting.reason,
            since: Moment(waiting.since),
            expected_at: waiting.expected_at.map(Moment),
        }),
        metadata: tracked.metadata.and_then(stored),
    }
}
