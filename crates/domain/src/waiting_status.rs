//! What a cargo is waiting for, since when, and when its outcome is expected.

use chrono::TimeDelta;

use crate::batch::{BatchState, SubmissionDelay};
use crate::reason_code::WaitingCode;
use crate::route::InferenceMode;
use crate::time::Timestamp;

/// A longer turnaround counts as this.
const MAX_TURNAROUND_SECONDS: f64 = 1e6;

/// What is known about a cargo that has no outcome yet.
#[derive(Debug, Clone, PartialEq)]
pub struct CargoProgress {
    pub created_at: Timestamp,
    /// When the cargo was requeued, because its batch had no outcome for it.
    pub requeued_at: Option<Timestamp>,
    /// The cargo is not gathered before this time.
    pub backoff_until: Option<Timestamp>,
    pub via: InferenceMode,
    pub paused_provider: Option<PausedProvider>,
    /// An operator has paused its lane.
    pub paused_lane: Option<PausedLane>,
    /// How long recent batches of its lane took, in seconds.
    pub turnaround: Option<f64>,
    pub batch: Option<BatchProgress>,
}

/// Why its provider is paused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PausedProvider {
    pub reason: String,
    pub since: Timestamp,
    /// From then on the provider may be tried again.
    pub retry_at: Option<Timestamp>,
}

/// Since when its lane is paused, and why, if the operator gave a reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PausedLane {
    pub reason: Option<String>,
    pub since: Timestamp,
}

/// The batch of a cargo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchProgress {
    pub state: BatchState,
    pub gathered_at: Timestamp,
    /// Since when it is unknown whether the provider received the batch.
    pub submission_unknown_since: Option<Timestamp>,
    pub running_at: Option<Timestamp>,
    /// When the batch is submitted or polled next.
    pub next_poll_at: Option<Timestamp>,
    pub cancel_requested_at: Option<Timestamp>,
    /// Why the last attempt to submit the batch did not send it.
    pub delay: Option<SubmissionDelay>,
    /// A worker has claimed the batch.
    pub is_claimed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingStatus {
    pub code: WaitingCode,
    pub reason: String,
    pub since: Timestamp,
    /// Never in the past; None if no estimate is possible.
    pub expected_at: Option<Timestamp>,
}

impl CargoProgress {
    /// `linger` is how long a lane waits between batches that are not full.
    pub fn waiting_status(&self, linger: TimeDelta, now: Timestamp) -> WaitingStatus {
        if let (Some(stopped), None) = (&self.paused_lane, &self.batch) {
            return stopped.waiting_status();
        }
        let has_begun = self
            .batch
            .as_ref()
            .filter(|it| has_reached_provider(it.state));
        let paused = self.paused_provider.as_ref();
        let paused = paused.filter(|it| it.retry_at.is_none_or(|at| at > now));
        if let (Some(paused), None) = (paused, has_begun) {
            return paused.waiting_status();
        }
        let (code, since, expected_at) = match &self.batch {
            None => self.status_without_batch(linger, now),
            Some(batch) if has_reached_provider(batch.state) => self.status_at_provider(batch, now),
            Some(batch) => self.status_before_provider(batch, now),
        };
        WaitingStatus {
            code,
            reason: code.description().to_owned(),
            since,
            expected_at,
        }
    }

    fn status_without_batch(&self, linger: TimeDelta, now: Timestamp) -> StatusParts {
        let rests_until = self.backoff_until.filter(|until| *until > now);
        let (code, since) = match self.requeued_at {
            Some(since) if rests_until.is_some() && self.via == InferenceMode::Flex => {
                (WaitingCode::FlexCapacity, since)
            }
            Some(since) if rests_until.is_some() => (WaitingCode::RetryBackoff, since),
            Some(since) => (WaitingCode::Requeued, since),
            None => (WaitingCode::WaitingForBatch, self.created_at),
        };
        let leaves_at = rests_until.unwrap_or(since + linger).max(now);
        (code, since, self.expected_end(leaves_at))
    }

    fn status_before_provider(&self, batch: &BatchProgress, now: Timestamp) -> StatusParts {
        if let Some(since) = batch.submission_unknown_since {
            let expected = self.expected_end(since).filter(|at| *at > now);
            return (WaitingCode::SubmissionUnconfirmed, since, expected);
        }
        let delay = batch.delay.filter(|_| !batch.is_claimed);
        let code = match (batch.state, delay) {
            (BatchState::Gathered, _) => WaitingCode::WaitingForSubmission,
            (_, None) => WaitingCode::Submitting,
            (_, Some(SubmissionDelay::AccountFull)) => WaitingCode::AccountFull,
            (_, Some(SubmissionDelay::ProviderRefused)) => WaitingCode::ProviderUnavailable,
            (_, Some(SubmissionDelay::NotAssembled)) => WaitingCode::BatchNotAssembled,
        };
        let tried_at = batch.next_poll_at.unwrap_or(now).max(now);
        (code, batch.gathered_at, self.expected_end(tried_at))
    }

    fn status_at_provider(&self, batch: &BatchProgress, now: Timestamp) -> StatusParts {
        let since = batch.running_at.unwrap_or(batch.gathered_at);
        let asked_at = batch.next_poll_at.filter(|at| *at > now);
        if let Some(wanted_at) = batch.cancel_requested_at {
            return (WaitingCode::BatchCancelling, wanted_at, None);
        }
        if self.via.is_single_request() {
            let is_flex = self.via == InferenceMode::Flex;
            let code = match (asked_at, is_flex) {
                (Some(_), false) if !batch.is_claimed => WaitingCode::ServerUnavailable,
                (Some(_), true) if !batch.is_claimed => WaitingCode::FlexCapacity,
                (_, false) => WaitingCode::ServerProcessing,
                (_, true) => WaitingCode::FlexProcessing,
            };
            return (code, since, asked_at);
        }
        let usual = self.expected_end(since);
        let code = match usual {
            _ if batch.is_claimed => WaitingCode::StoringResults,
            Some(usual) if usual <= now => WaitingCode::ProviderSlow,
            _ => WaitingCode::ProviderProcessing,
        };
        (code, since, usual.max(asked_at).filter(|at| *at > now))
    }

    /// When a batch that begins at `begin` is expected to end.
    fn expected_end(&self, begin: Timestamp) -> Option<Timestamp> {
        let seconds = self.turnaround?.clamp(0.0, MAX_TURNAROUND_SECONDS);
        #[expect(clippy::cast_possible_truncation, reason = "clamped")]
        let usual = TimeDelta::try_milliseconds((seconds * 1000.0) as i64)?;
        Some(begin + usual)
    }
}

impl PausedProvider {
    fn waiting_status(&self) -> WaitingStatus {
        let code = WaitingCode::ProviderPaused;
        let (what, why) = (code.description(), &self.reason);
        WaitingStatus {
            code,
            reason: format!("{what}: {why}; the operator can resolve this"),
            since: self.since,
            expected_at: None,
        }
    }
}

impl PausedLane {
    fn waiting_status(&self) -> WaitingStatus {
        let code = WaitingCode::PausedByOperator;
        let why = self.reason.as_deref().map(|why| format!(": {why}"));
        WaitingStatus {
            code,
            reason: format!("{}{}", code.description(), why.unwrap_or_default()),
            since: self.since,
            expected_at: None,
        }
    }
}

/// What the cargo waits for, since when, and when the outcome is expected.
type StatusParts = (WaitingCode, Timestamp, Option<Timestamp>);

const fn has_reached_provider(state: BatchState) -> bool {
    matches!(state, BatchState::Running | BatchState::Ended)
}

#[cfg(test)]
mod tests;
