//! The events of a cargo, one line each.

use domain::id::BatchId;
use domain::time::Timestamp;
use store::shard::tracking::{StoredOutcome, TrackedCargo};
use store::view::cargo_detail::{CargoDetail, LoggedAttempt};

use crate::text::duration;

#[derive(Debug)]
pub(crate) struct CargoEvent {
    pub(crate) at: Timestamp,
    /// Time since the load.
    pub(crate) elapsed: String,
    pub(crate) step: String,
    /// The batch to link to.
    pub(crate) batch: Option<BatchId>,
    pub(crate) is_scheduled: bool,
}

pub(crate) fn list_events(
    tracked: &TrackedCargo,
    beside: &CargoDetail,
    attempts: &[LoggedAttempt],
) -> Vec<CargoEvent> {
    let created = tracked.created_at;
    let event = |at: Timestamp, what: String| CargoEvent {
        at,
        elapsed: format!("+{}", duration(at - created)),
        step: what,
        batch: None,
        is_scheduled: false,
    };
    let mut events = vec![event(created, "Loaded".to_owned())];
    if let Some(at) = beside.returned_at {
        let text = "Requeued: its batch ended without a result";
        events.push(event(at, text.to_owned()));
    }
    if let Some(at) = tracked.batched_at {
        events.push(CargoEvent {
            batch: beside.batch,
            ..event(at, "Gathered into a batch".to_owned())
        });
    }
    if let Some(at) = tracked.processing_at {
        events.push(event(at, format!("Accepted by {}", beside.provider)));
    }
    if let Some(at) = tracked.cancel_requested_at {
        events.push(event(at, "Cancellation requested".to_owned()));
    }
    if let Some(at) = tracked.completed_at {
        let outcome = tracked.outcome.as_ref();
        let what = if outcome.is_some_and(|it| it.success) {
            "Completed"
        } else if outcome.is_some_and(StoredOutcome::is_cancelled) {
            "Cancelled"
        } else {
            "Failed"
        };
        events.push(event(at, what.to_owned()));
    }
    events.extend(
        attempts
            .iter()
            .map(|attempt| event(attempt.started_at, describe_attempt(attempt))),
    );
    events.extend(beside.callback_ended_at.map(|at| {
        let is_delivered = tracked
            .callback
            .as_ref()
            .is_some_and(|it| it.delivered_at.is_some());
        let what = if is_delivered {
            "Callback delivered"
        } else {
            "Callback failed (retries exhausted)"
        };
        event(at, what.to_owned())
    }));
    events.sort_by_key(|event| event.at);
    let next = tracked.callback.as_ref().and_then(|it| it.next_attempt_at);
    events.extend(next.map(|at| {
        let number = beside.next_attempt_number.unwrap_or(1);
        let suffix = if beside.is_resend {
            " (manual resend)"
        } else {
            ""
        };
        CargoEvent {
            is_scheduled: true,
            ..event(at, format!("Callback attempt {number} due{suffix}"))
        }
    }));
    events
}

fn describe_attempt(attempt: &LoggedAttempt) -> String {
    let took = duration(attempt.ended_at - attempt.started_at);
    let result = match (attempt.status, &attempt.error) {
        (Some(status), _) => format!("HTTP {status}"),
        (None, Some(error)) => error.clone(),
        (None, None) => "no response".to_owned(),
    };
    format!("Callback attempt {}: {result} after {took}", attempt.number)
}
