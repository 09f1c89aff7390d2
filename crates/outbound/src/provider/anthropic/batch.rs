//! The batch object of Anthropic.

use std::time::Duration;

use domain::time::Timestamp;
use serde::Deserialize;

use crate::provider::ProviderJobId;
use crate::provider::batch_provider::{JobEndReason, JobStatus, ListedJob, ResultLocation};
use crate::provider::client::ProviderCallFailure;
use crate::provider::job_listing::JobPage;

#[derive(Debug, Deserialize)]
pub(super) struct AnthropicBatch {
    id: String,
    processing_status: String,
    #[serde(default)]
    request_counts: Counts,
    created_at: Timestamp,
    #[serde(default)]
    archived_at: Option<String>,
    #[serde(default)]
    cancel_initiated_at: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Counts {
    processing: u64,
    succeeded: u64,
    errored: u64,
    canceled: u64,
    expired: u64,
}

impl Counts {
    fn done(&self) -> u64 {
        let counts = [self.succeeded, self.errored, self.canceled, self.expired];
        counts.into_iter().fold(0, u64::saturating_add)
    }

    fn total(&self) -> u64 {
        self.done().saturating_add(self.processing)
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct AnthropicBatchList {
    data: Vec<AnthropicBatch>,
    #[serde(default)]
    has_more: bool,
    #[serde(default)]
    last_id: Option<String>,
}

impl AnthropicBatchList {
    pub(super) fn into_page(self) -> JobPage {
        let last = self.last_id.or_else(|| Some(self.data.last()?.id.clone()));
        JobPage {
            jobs: self
                .data
                .into_iter()
                .map(AnthropicBatch::into_listed_job)
                .collect(),
            next: last.filter(|_| self.has_more),
        }
    }
}

impl AnthropicBatch {
    pub(super) fn into_job_id(self) -> ProviderJobId {
        ProviderJobId(self.id)
    }

    fn into_listed_job(self) -> ListedJob {
        ListedJob {
            created_at: Some(self.created_at),
            items: Some(self.request_counts.total()),
            label: None,
            owner: None,
            upload: None,
            job: ProviderJobId(self.id),
        }
    }

    pub(super) fn into_status(
        self,
        hint: Option<Duration>,
    ) -> Result<JobStatus, ProviderCallFailure> {
        match self.processing_status.as_str() {
            // Until the batch ends, only `processing` is counted.
            "in_progress" | "canceling" => Ok(JobStatus::Running {
                retry_after: hint,
                done: self.request_counts.done(),
                total: self.request_counts.total(),
            }),
            "ended" if self.archived_at.is_some() => Ok(JobStatus::Gone),
            "ended" => Ok(JobStatus::Ended {
                results: vec![ResultLocation::Job],
                end_reason: self.end_reason(),
            }),
            _ => Err(ProviderCallFailure::UnreadableResponse),
        }
    }

    fn end_reason(&self) -> JobEndReason {
        if self.cancel_initiated_at.is_some() {
            JobEndReason::Cancelled
        } else if self.request_counts.expired > 0 {
            JobEndReason::Expired
        } else {
            JobEndReason::Completed
        }
    }
}
