//! Providers run models: a batch is submitted as a job and polled until every answer has arrived.

use std::fmt;

use async_trait::async_trait;
use domain::id::{BatchId, CargoId};
use domain::model::Model;
use domain::outcome::Outcome;
use domain::params::Params;
use domain::time::Timestamp;

pub mod mock;

pub mod credential;

mod provider_error;

pub mod item_key;

pub mod spool;

pub mod media;

pub mod item_result;

pub mod client;

pub mod batch_provider;

mod job_listing;

mod openai_compatible;

pub mod openai;

pub mod anthropic;

pub mod gemini;

pub mod realtime;

#[cfg(test)]
mod fixtures;

#[async_trait]
pub trait Provider: Send + Sync + fmt::Debug {
    /// Submits a batch. The caller stored the intent before, so it can reconcile an
    /// indeterminate result.
    async fn submit(
        &self,
        submission: &BatchSubmission,
        items: &mut dyn BatchItems,
        now: Timestamp,
    ) -> Result<SubmissionReceipt, SubmitFailure>;

    /// Returns outcomes of open items, and whether more will follow.
    async fn poll(
        &self,
        job: &ProviderJobId,
        submission: &BatchSubmission,
        items: &mut dyn BatchItems,
        now: Timestamp,
    ) -> Result<PollResponse, PollFailure>;
}

/// The items of a batch, read only when a provider needs them.
#[async_trait]
pub trait BatchItems: Send {
    /// Items without an outcome.
    async fn open_items(&mut self) -> Result<Vec<BatchItem>, BatchItemsFailure>;
}

#[derive(Debug, Clone, PartialEq)]
pub struct BatchItem {
    pub cargo: CargoId,
    pub attempt: u32,
    pub loaded_at: Timestamp,
    pub params: Params,
}

impl BatchItem {
    /// The id of this item inside the provider's job.
    pub const fn key(&self) -> item_key::ItemKey {
        item_key::ItemKey {
            cargo: self.cargo,
            attempt: self.attempt,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchSubmission {
    pub batch: BatchId,
    pub model: Model,
}

/// The provider's id for a submitted batch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProviderJobId(pub String);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmissionReceipt {
    pub job: ProviderJobId,
    pub next_poll_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmitFailure {
    /// The provider refused the batch. A retry would fail too.
    #[error("refused: {0}")]
    Refused(String),
    /// The batch was not submitted. A retry is safe.
    #[error("unavailable: {0}")]
    Unavailable(String),
    /// The batch may have been submitted: a second submission could be billed twice.
    #[error("submission result unknown: {0}")]
    Indeterminate(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PollFailure(pub String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BatchItemsFailure(pub String);

#[derive(Debug, Clone, PartialEq)]
pub struct PollResponse {
    pub results: Vec<ItemOutcome>,
    pub progress: PollProgress,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ItemOutcome {
    pub cargo: CargoId,
    pub attempt: u32,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PollProgress {
    Running { next_poll_at: Timestamp },
    Ended,
}
