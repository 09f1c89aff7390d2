//! The mock provider: echoes after a delay, and keeps nothing, so that a crash loses nothing.
//!
//! When an answer is ready follows from the item alone: the moment it was
//! loaded, the delay, and for `svc-mock` the directives in its last user message.

use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use domain::model::{Mocking, Model, SVC_MOCK};
use domain::outcome::Outcome;
use domain::params::Params;
use domain::time::Timestamp;

use crate::provider::Answer;
use crate::provider::Item;
use crate::provider::Job;
use crate::provider::Manifest;
use crate::provider::PollFailure;
use crate::provider::Polled;
use crate::provider::Progress;
use crate::provider::Provider;
use crate::provider::Submission;
use crate::provider::SubmitFailure;
use crate::provider::Submitted;

mod chat;
mod directives;
mod embedding;
mod tokens;

use directives::Asked;

#[cfg(test)]
mod tests;

/// A job is not asked about more often than this.
const SHORTEST_WAIT: TimeDelta = TimeDelta::milliseconds(100);
const LONGEST_DELAY: TimeDelta = TimeDelta::days(1);

#[derive(Debug, Clone, Copy)]
pub struct Mock {
    delay: TimeDelta,
}

impl Mock {
    /// Answers are ready so long after the cargo was loaded; at most a day.
    pub fn new(delay: Duration) -> Self {
        let delay = TimeDelta::from_std(delay).unwrap_or(LONGEST_DELAY);
        Self {
            delay: delay.min(LONGEST_DELAY),
        }
    }
}

#[async_trait]
impl Provider for Mock {
    async fn submit(
        &self,
        submission: &Submission,
        _: &mut dyn Manifest,
        now: Timestamp,
    ) -> Result<Submitted, SubmitFailure> {
        let job = Job(format!("mock_{}", submission.batch.uuid().simple()));
        Ok(Submitted {
            job,
            next_poll_at: now,
        })
    }

    async fn poll(
        &self,
        _: &Job,
        submission: &Submission,
        items: &mut dyn Manifest,
        now: Timestamp,
    ) -> Result<Polled, PollFailure> {
        let items = items
            .open_items()
            .await
            .map_err(|failure| PollFailure(failure.0))?;
        let mut results = Vec::with_capacity(items.len());
        let mut earliest: Option<Timestamp> = None;
        for item in items {
            match self.answer(&item, &submission.model, now) {
                Ok(outcome) => {
                    results.push(Answer {
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
            Some(at) => Progress::Running {
                next_poll_at: at.max(now + SHORTEST_WAIT),
            },
            None => Progress::Ended,
        };
        Ok(Polled { results, progress })
    }
}

impl Mock {
    /// The outcome, or when there will be one.
    fn answer(&self, item: &Item, model: &Model, now: Timestamp) -> Result<Outcome, Timestamp> {
        let (said, asked) = match &item.params {
            Params::Chat(chat) if model.id == SVC_MOCK => directives::read(&chat::last_said(chat)),
            Params::Chat(chat) => (chat::last_said(chat).into_owned(), Asked::default()),
            Params::Embedding(_) => (String::new(), Asked::default()),
        };
        let ready_at = item.loaded_at + asked.delay.unwrap_or(self.delay);
        if ready_at > now {
            return Err(ready_at);
        }
        if let Mocking::Fail(text) = &model.mocking {
            return Ok(Outcome::Failure(text.clone()));
        }
        if let Some(text) = asked.fail {
            return Ok(Outcome::Failure(text));
        }
        Ok(match &item.params {
            Params::Chat(chat) => {
                Outcome::Success(chat::complete(item.cargo, model, chat, said, &asked))
            }
            Params::Embedding(embedding) => embedding::embed(item.cargo, model, embedding),
        })
    }
}
