//! `GET /cargo/{cargo_id}/tracking`: where a cargo stands.

use axum::Json;
use axum::extract::{Path, State};
use chrono::TimeDelta;
use domain::cargo::{self, Status};
use domain::id::CargoId;
use domain::route::Via;
use domain::saving::Saving;
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
    Ok(Json(record(cargo, tracked)))
}

fn record(cargo: CargoId, tracked: Tracked) -> Tracking {
    let waiting = waiting(&tracked);
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
        waiting,
        metadata: tracked.metadata.and_then(stored),
    }
}

/// Why it is not further yet, in words for the caller, and when its lane's batches let expect it.
fn waiting(tracked: &Tracked) -> Option<Waiting> {
    let way = &tracked.way;
    let (reason, since) = match tracked.status {
        Status::Pending => ("waiting to be gathered into a batch", None),
        Status::Batched if way.is_looked_for => (
            "whether its batch reached the provider is being looked into",
            tracked.batched_at,
        ),
        Status::Batched => (
            "its batch is being submitted to the provider",
            tracked.batched_at,
        ),
        Status::Processing if way.via == Via::Realtime => {
            ("the model's server is working on it", tracked.processing_at)
        }
        Status::Processing => (
            "the provider is working on its batch",
            tracked.processing_at,
        ),
        Status::Completed | Status::Delivered | Status::Undeliverable => return None,
    };
    let since = since.unwrap_or(tracked.created_at);
    let usual = way.turnaround.and_then(|seconds| {
        // A lane that has taken years has no say.
        let milliseconds = (seconds * 1000.0).clamp(0.0, 1e9);
        #[expect(clippy::cast_possible_truncation, reason = "clamped")]
        TimeDelta::try_milliseconds(milliseconds as i64)
    });
    let polled = tracked
        .next_poll_at
        .filter(|_| tracked.status == Status::Processing);
    let expected = usual.map(|usual| since + usual).max(polled);
    let (reason, since) = match (&way.paused, tracked.status) {
        (Some((why, paused_at)), Status::Pending | Status::Batched) => {
            (format!("its provider is paused: {why}"), *paused_at)
        }
        _ => (reason.to_owned(), since),
    };
    Some(Waiting {
        reason,
        since: Moment(since),
        expected_at: expected.map(Moment),
    })
}
