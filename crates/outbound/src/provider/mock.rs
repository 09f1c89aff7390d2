//! The mock provider: it echoes after a delay, and has no state, so a crash loses nothing.
//!
//! The item alone determines when its answer is ready: by its load time, the delay, and for
//! `svc-mock` the directives in the last user message.

use std::time::Duration;

use chrono::TimeDelta;
use domain::id::BatchId;
use domain::model::{MockBehaviour, Model, SVC_MOCK};
use domain::outcome::Outcome;
use domain::params::Params;
use domain::reason_code::FailureCode;
use domain::time::Timestamp;

use super::{BatchItem, ProviderJobId};

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

/// The answer to one item.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "it is read at once and never kept"
)]
pub enum MockAnswer {
    Ready(Outcome),
    NotReady { next_poll_at: Timestamp },
}

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

    /// The job of a batch. The mock accepts every batch, and keeps no record of it.
    pub fn job_id(batch: BatchId) -> ProviderJobId {
        ProviderJobId(format!("mock_{}", batch.uuid().simple()))
    }

    pub fn answer(&self, item: &BatchItem, model: &Model, now: Timestamp) -> MockAnswer {
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
            let next_poll_at = ready_at.max(now + MIN_POLL_INTERVAL);
            return MockAnswer::NotReady { next_poll_at };
        }
        if let MockBehaviour::Fail(text) = &model.mock_behaviour {
            return MockAnswer::Ready(rejection(text));
        }
        if let Some(text) = directives.fail {
            return MockAnswer::Ready(rejection(text));
        }
        MockAnswer::Ready(match &item.params {
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
