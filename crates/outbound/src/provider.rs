//! Providers run models: a batch is submitted as a job, and polled until every answer is there.

use std::fmt;

use async_trait::async_trait;
use domain::id::{BatchId, CargoId};
use domain::model::Model;
use domain::outcome::Outcome;
use domain::params::Params;
use domain::time::Timestamp;

pub mod mock;

pub mod credential;

mod no;

pub mod key;

pub mod spool;

pub mod media;

pub mod ending;

pub mod call;

pub mod jobs;

mod pages;

mod completions;

pub mod openai;

pub mod anthropic;

pub mod gemini;

pub mod server;

#[cfg(test)]
mod samples;

#[async_trait]
pub trait Provider: Send + Sync + fmt::Debug {
    /// Hands a batch over. The intent was written before, so an unknown end can be looked into.
    async fn submit(
        &self,
        submission: &Submission,
        items: &mut dyn Manifest,
        now: Timestamp,
    ) -> Result<Submitted, SubmitFailure>;

    /// What has come back since: answers to items that have none yet, and whether more will come.
    async fn poll(
        &self,
        job: &Job,
        submission: &Submission,
        items: &mut dyn Manifest,
        now: Timestamp,
    ) -> Result<Polled, PollFailure>;
}

/// The cargo of a batch, read only when a provider asks for it.
#[async_trait]
pub trait Manifest: Send {
    /// Those that have no outcome yet.
    async fn open_items(&mut self) -> Result<Vec<Item>, ManifestFailure>;
}

#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    pub cargo: CargoId,
    pub attempt: u32,
    pub loaded_at: Timestamp,
    pub params: Params,
}

impl Item {
    /// What a provider knows it by.
    pub const fn key(&self) -> key::ItemKey {
        key::ItemKey {
            cargo: self.cargo,
            attempt: self.attempt,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    pub batch: BatchId,
    pub model: Model,
}

/// The provider's name for a batch it has taken.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Job(pub String);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    pub job: Job,
    pub next_poll_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmitFailure {
    /// The provider said no, for good.
    #[error("refused: {0}")]
    Refused(String),
    /// Certainly not submitted; it may be tried again.
    #[error("unavailable: {0}")]
    Unavailable(String),
    /// It may have been submitted: a second submission could be billed twice.
    #[error("unknown: {0}")]
    Unknown(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PollFailure(pub String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ManifestFailure(pub String);

#[derive(Debug, Clone, PartialEq)]
pub struct Polled {
    pub results: Vec<Answer>,
    pub progress: Progress,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub cargo: CargoId,
    pub attempt: u32,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Running { next_poll_at: Timestamp },
    Ended,
}
