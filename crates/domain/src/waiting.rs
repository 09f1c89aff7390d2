//! Why a cargo is not further yet, since when, and when its outcome is expected.

use chrono::TimeDelta;

use crate::batch::{Delay, State};
use crate::route::Via;
use crate::time::Timestamp;

/// A lane that has taken longer than this has no say.
const LONGEST_SECONDS: f64 = 1e6;

/// What is known of the way that a cargo is on, while it has no outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Way {
    pub created_at: Timestamp,
    /// When it came back from a batch that had no outcome for it.
    pub returned_at: Option<Timestamp>,
    /// It is not gathered before.
    pub rests_until: Option<Timestamp>,
    pub via: Via,
    pub paused: Option<Paused>,
    /// An operator lets nothing be gathered in its lane.
    pub stopped: Option<Stopped>,
    /// How long batches of its lane took lately, in seconds.
    pub turnaround: Option<f64>,
    pub batch: Option<Batch>,
}

/// Why its provider takes nothing for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paused {
    pub reason: String,
    pub since: Timestamp,
    /// From then on it may be over: who asks finds out.
    pub retry_at: Option<Timestamp>,
}

/// Since when its lane is paused, and why, if that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    pub reason: Option<String>,
    pub since: Timestamp,
}

/// The batch that it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    pub state: State,
    pub gathered_at: Timestamp,
    /// Since when the provider may have it, when nobody knows whether it does.
    pub unknown_since: Option<Timestamp>,
    pub running_at: Option<Timestamp>,
    /// When it is tried, or asked for, again.
    pub next_poll_at: Option<Timestamp>,
    pub cancel_wanted_at: Option<Timestamp>,
    /// Why it was not sent when it was tried last.
    pub delay: Option<Delay>,
    /// A worker has it in hand.
    pub is_claimed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub reason: String,
    pub since: Timestamp,
    /// Never in the past; nothing where nobody can know.
    pub expected_at: Option<Timestamp>,
}

impl Way {
    /// `linger` is how long a lane rests between batches that are not full.
    pub fn waiting(&self, linger: TimeDelta, now: Timestamp) -> Waiting {
        if let (Some(stopped), None) = (&self.stopped, &self.batch) {
            return stopped.waiting();
        }
        let has_begun = self.batch.as_ref().filter(|it| is_begun(it.state));
        let paused = self.paused.as_ref();
        let paused = paused.filter(|it| it.retry_at.is_none_or(|at| at > now));
        if let (Some(paused), None) = (paused, has_begun) {
            let why = &paused.reason;
            return Waiting {
                reason: format!("its provider is paused: {why}; the operator can mend it"),
                since: paused.since,
                expected_at: None,
            };
        }
        let (reason, since, expected_at) = match &self.batch {
            None => self.outside(linger, now),
            Some(batch) if is_begun(batch.state) => self.at_provider(batch, now),
            Some(batch) => self.before_provider(batch, now),
        };
        Waiting {
            reason: reason.to_owned(),
            since,
            expected_at,
        }
    }

    fn outside(&self, linger: TimeDelta, now: Timestamp) -> Told {
        let rests_until = self.rests_until.filter(|until| *until > now);
        let (reason, since) = match self.returned_at {
            Some(since) if rests_until.is_some() => (
                "its provider could not answer it: it goes again after a rest",
                since,
            ),
            Some(since) => (
                "its batch ended without an answer to it: waiting to be gathered into another",
                since,
            ),
            None => ("waiting to be gathered into a batch", self.created_at),
        };
        let leaves_at = rests_until.unwrap_or(since + linger).max(now);
        (reason, since, self.begun_at(leaves_at))
    }

    fn before_provider(&self, batch: &Batch, now: Timestamp) -> Told {
        if let Some(since) = batch.unknown_since {
            let reason = "whether its batch reached the provider is being looked into";
            let expected = self.begun_at(since).filter(|at| *at > now);
            return (reason, since, expected);
        }
        let delay = batch.delay.filter(|_| !batch.is_claimed);
        let reason = match (batch.state, delay) {
            (State::Gathered, _) => "its batch is waiting to be submitted",
            (_, None) => "its batch is being submitted to the provider",
            (_, Some(Delay::Full)) => {
                "the provider's account is full: its batch follows when there is room"
            }
            (_, Some(Delay::Refused)) => {
                "the provider takes nothing right now: its batch is tried again soon"
            }
            (_, Some(Delay::Unready)) => {
                "its batch cannot be put together right now: it is tried again soon"
            }
        };
        let tried_at = batch.next_poll_at.unwrap_or(now).max(now);
        (reason, batch.gathered_at, self.begun_at(tried_at))
    }

    fn at_provider(&self, batch: &Batch, now: Timestamp) -> Told {
        let since = batch.running_at.unwrap_or(batch.gathered_at);
        let asked_at = batch.next_poll_at.filter(|at| *at > now);
        if let Some(wanted_at) = batch.cancel_wanted_at {
            let reason =
                "its batch took too long and is being cancelled: it then takes another way";
            return (reason, wanted_at, None);
        }
        if self.via == Via::Realtime {
            let reason = match asked_at {
                Some(_) if !batch.is_claimed => {
                    "the model's server does not answer right now: it is asked again soon"
                }
                _ => "the model's server is working on it",
            };
            return (reason, since, asked_at);
        }
        let usual = self.begun_at(since);
        let reason = match usual {
            _ if batch.is_claimed => "the results of its batch are being asked for and stored",
            Some(usual) if usual <= now => {
                "the provider is working on its batch, longer than it took lately"
            }
            _ => "the provider is working on its batch",
        };
        (reason, since, usual.max(asked_at).filter(|at| *at > now))
    }

    /// When a batch that begins then is expected to end.
    fn begun_at(&self, begin: Timestamp) -> Option<Timestamp> {
        let seconds = self.turnaround?.clamp(0.0, LONGEST_SECONDS);
        #[expect(clippy::cast_possible_truncation, reason = "clamped")]
        let usual = TimeDelta::try_milliseconds((seconds * 1000.0) as i64)?;
        Some(begin + usual)
    }
}

impl Stopped {
    fn waiting(&self) -> Waiting {
        let why = self.reason.as_deref().map(|why| format!(": {why}"));
        Waiting {
            reason: format!("paused by the operator{}", why.unwrap_or_default()),
            since: self.since,
            expected_at: None,
        }
    }
}

/// Why, since when, and when it is expected.
type Told = (&'static str, Timestamp, Option<Timestamp>);

const fn is_begun(state: State) -> bool {
    matches!(state, State::Running | State::Ended)
}

#[cfg(test)]
mod tests;
