//! What happened to a cargo, one line for each event.

use domain::id::BatchId;
use domain::time::Timestamp;
use store::shard::tracking::Tracked;
use store::view::one_cargo::{Attempt, Beside};

use crate::text::duration;

#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) at: Timestamp,
    /// Since the load.
    pub(crate) after: String,
    pub(crate) what: String,
    /// Where to read more.
    pub(crate) batch: Option<BatchId>,
    pub(crate) is_to_come: bool,
}

pub(crate) fn tell(tracked: &Tracked, beside: &Beside, attempts: &[Attempt]) -> Vec<Event> {
    let created = tracked.created_at;
    let event = |at: Timestamp, what: String| Event {
        at,
        after: format!("+{}", duration(at - created)),
        what,
        batch: None,
        is_to_come: false,
    };
    let mut events = vec![event(created, "Loaded".to_owned())];
    if let Some(at) = beside.returned_at {
        let text = "Came back from a batch that had no answer to it";
        events.push(event(at, text.to_owned()));
    }
    if let Some(at) = tracked.batched_at {
        events.push(Event {
            batch: beside.batch,
            ..event(at, "Gathered into a batch".to_owned())
        });
    }
    if let Some(at) = tracked.processing_at {
        events.push(event(at, format!("Taken by {}", beside.provider)));
    }
    if let Some(at) = tracked.completed_at {
        let is_success = tracked.outcome.as_ref().is_some_and(|it| it.success);
        let what = if is_success { "Answered" } else { "Failed" };
        events.push(event(at, what.to_owned()));
    }
    events.extend(
        attempts
            .iter()
            .map(|attempt| event(attempt.started_at, called(attempt))),
    );
    events.extend(beside.callback_ended_at.map(|at| {
        let is_delivered = tracked
            .callback
            .as_ref()
            .is_some_and(|it| it.delivered_at.is_some());
        let what = if is_delivered {
            "Callback delivered"
        } else {
            "Callback given up"
        };
        event(at, what.to_owned())
    }));
    events.sort_by_key(|event| event.at);
    let next = tracked.callback.as_ref().and_then(|it| it.next_attempt_at);
    events.extend(next.map(|at| {
        let number = beside.next_number.unwrap_or(1);
        let asked = if beside.is_resend {
            ", because somebody asked for it"
        } else {
            ""
        };
        Event {
            is_to_come: true,
            ..event(at, format!("Callback attempt {number} is due{asked}"))
        }
    }));
    events
}

fn called(attempt: &Attempt) -> String {
    let took = duration(attempt.ended_at - attempt.started_at);
    let answer = match (attempt.status, &attempt.error) {
        (Some(status), _) => format!("answered {status}"),
        (None, Some(error)) => error.clone(),
        (None, None) => "no answer".to_owned(),
    };
    format!("Callback attempt {}: {answer} after {took}", attempt.number)
}
