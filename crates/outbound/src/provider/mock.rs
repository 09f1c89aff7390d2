//! The mock provider: it echoes after a delay, and has no state, so a crash loses nothing.
//!
//! The item alone determines when its answer is ready: by its load time, the delay, and for
//! `svc-mock` the directives in the last user message.

use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use domain::model::{MockBehaviour, Model, SVC_MOCK};
use domain::outcome::Outcome;
use domain::params::Params;
use domain::reason_code::FailureCode;
use domain::time::Timestamp;

use crate::provider::BatchItem;
use crate::provider::BatchItems;
use crate::provider::BatchSubmission;
use crate::provider::ItemOutcome;
use crate::provider::PollFailure;
use crate::provider::PollProgress;
use crate::provider::PollResponse;
use crate::provider::Provider;
use crate::provider::ProviderJobId;
use crate::provider::SubmissionReceipt;
use crate::provider::SubmitFailure;

mod chat;
mod directives;
mod embedding;
mod tokens;

use directives::MockDirectives;

#[cfg(test)]
mod tests;

/// A job is not polled more often.
const MIN_POLL_INTERVAL: TimeDelta = TimeDelta::milliseconds(100);
const MAX_DELAY: TimeDelta = TimeDelta::days(1);

#[derive(Debug, Clone, Copy)]
pub struct MockProvider {
    delay: TimeDelta,
}

impl MockProvider {
    /// Answers are ready `delay` after the cargo was loaded; at most a day.
    pub fn new(delay: Duration) -> Self {
        let delay = TimeDelta::from_std(delay).unwrap_or(MAX_DELAY);
        Self {
            delay: delay.min(MAX_DELAY),
        }
    }
}

#[async_trait]
impl Provider for MockProvider {
    async fn submit(
        &self,
        submission: &BatchSubmission,
        _: &mut dyn BatchItems,
        now: Timestamp,
    ) -> Result<SubmissionReceipt, SubmitFailure> {
        let job = ProviderJobId(format!("mock_{}", submission.batch.uuid().simple()));
        Ok(SubmissionReceipt {
            job,
            next_poll_at: now,
        })
    }

    async fn poll(
        &self,
        _: &ProviderJobId,
        submission: &BatchSubmission,
        items: &mut dyn BatchItems,
        now: Timestamp,
    ) -> Result<PollResponse, PollFailure> {
        let items = items
            .open_items()
            .await
            .map_err(|failure| PollFailure(failure.0))?;
        let mut results = Vec::with_capacity(items.len());
        let mut earliest: Option<Timestamp> = None;
        for item in items {
            match self.answer_item(&item, &submission.model, now) {
                Ok(outcome) => {
                    results.push(ItemOutcome {
                        cargo: item.cargo,
                        attempt: item.attempt,
                        outcome,
                    });
                }
                Err(ready_at) => {
                    earliest = Some(earliest.map_or(ready_at, |other| other.min(ready_at)));
                }
            }
        }
        let progress = match earliest {
            Some(at) => PollProgress::Running {
                next_poll_at: at.max(now + MIN_POLL_INTERVAL),
            },
            None => PollProgress::Ended,
        };
        Ok(PollResponse { results, progress })
    }
}

impl MockProvider {
    /// The outcome, or the time at which it will be ready.
    fn answer_item(
        &self,
        item: &BatchItem,
        model: &Model,
        now: Timestamp,
    ) -> Result<Outcome, Timestamp> {
        let (prompt, directives) = match &item.params {
            Params::Chat(chat) if model.id == SVC_MOCK => {
                directives::parse(&chat::last_user_text(chat))
            }
            Params::Chat(chat) => (
                chat::last_user_text(chat).into_owned(),
                MockDirectives::default(),
            ),
            Params::Embedding(_) => (String::new(), MockDirectives::default()),
        };
        let ready_at = item.loaded_at + directives.delay.unwrap_or(self.delay);
        if ready_at > now {
            return Err(ready_at);
        }
        if let MockBehaviour::Fail(text) = &model.mock_behaviour {
            return Ok(rejection(text));
        }
        if let Some(text) = directives.fail {
            return Ok(rejection(text));
        }
        Ok(match &item.params {
            Params::Chat(chat) => {
                Outcome::Success(chat::complete(item.cargo, model, chat, prompt, &directives))
            }
            Params::Embedding(embedding) => embedding::embed(item.cargo, model, embedding),
        })
    }
}

/// Fails a request as a provider does that rejects it.
fn rejection(message: impl Into<String>) -> Outcome {
    Outcome::Failure(FailureCode::RequestRejected.with_message(message))
}
