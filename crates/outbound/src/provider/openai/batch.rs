//! The batch object of `OpenAI`.

use std::time::Duration;

use chrono::DateTime;
use serde::Deserialize;
use uuid::Uuid;

use crate::provider::ProviderJobId;
use crate::provider::batch_provider::{
    JobEndReason, JobFailureReason, JobOwner, JobStatus, ListedJob, ProviderFileId, ResultLocation,
    SubmissionLabel,
};
use crate::provider::client::ProviderCallFailure;
use crate::provider::job_listing::JobPage;

#[derive(Debug, Deserialize)]
pub(super) struct OpenAiBatch {
    #[serde(default)]
    id: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    created_at: i64,
    #[serde(default)]
    input_file_id: Option<String>,
    #[serde(default)]
    output_file_id: Option<String>,
    #[serde(default)]
    error_file_id: Option<String>,
    #[serde(default)]
    errors: Option<Errors>,
    #[serde(default)]
    request_counts: Option<Counts>,
    #[serde(default)]
    metadata: Option<Metadata>,
    /// For a deleted batch, a 200 response contains only this field.
    #[serde(default)]
    error: Option<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    #[serde(default)]
    submission_id: Option<String>,
    #[serde(default)]
    submitted_by: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Counts {
    total: u64,
    completed: u64,
    failed: u64,
}

#[derive(Debug, Deserialize)]
struct Errors {
    #[serde(default)]
    data: Vec<BatchError>,
}

#[derive(Debug, Deserialize)]
struct BatchError {
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    line: Option<u64>,
    #[serde(default)]
    message: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct OpenAiBatchList {
    data: Vec<OpenAiBatch>,
    #[serde(default)]
    has_more: bool,
    #[serde(default)]
    last_id: Option<String>,
}

impl OpenAiBatchList {
    pub(super) fn into_page(self) -> JobPage {
        let last = self.last_id.or_else(|| Some(self.data.last()?.id.clone()));
        let jobs = self.data.into_iter().map(OpenAiBatch::into_listed_job);
        JobPage {
            jobs: jobs.collect(),
            next: last.filter(|_| self.has_more),
        }
    }
}

impl OpenAiBatch {
    pub(super) fn into_job_id(self) -> Result<ProviderJobId, ProviderCallFailure> {
        if self.id.is_empty() {
            return Err(ProviderCallFailure::Indeterminate(
                "the provider returned no job id".to_owned(),
            ));
        }
        Ok(ProviderJobId(self.id))
    }

    fn into_listed_job(self) -> ListedJob {
        let (label, owner) = self
            .metadata
            .map_or((None, None), |it| (it.submission_id, it.submitted_by));
        let owner = owner.and_then(|text| Uuid::try_parse(&text).ok());
        let items = self.request_counts.map(|counts| counts.total);
        ListedJob {
            job: ProviderJobId(self.id),
            created_at: Some(DateTime::from_timestamp(self.created_at, 0).unwrap_or_default()),
            // The provider counts during validation.
            items: items.filter(|total| *total > 0),
            label: label.map(SubmissionLabel),
            owner: owner.map(JobOwner),
            upload: self.input_file_id.map(ProviderFileId),
        }
    }

    pub(super) fn into_status(
        self,
        hint: Option<Duration>,
    ) -> Result<JobStatus, ProviderCallFailure> {
        let counts = self.request_counts.unwrap_or_default();
        let why = match self.status.as_str() {
            "validating" | "in_progress" | "finalizing" | "cancelling" => {
                return Ok(JobStatus::Running {
                    retry_after: hint,
                    done: counts.completed.saturating_add(counts.failed),
                    total: counts.total,
                });
            }
            "failed" => {
                let faults = self.errors.map(|errors| errors.data).unwrap_or_default();
                return Ok(JobStatus::Failed {
                    reason: failure_reason(&faults),
                });
            }
            "completed" => JobEndReason::Completed,
            "expired" => JobEndReason::Expired,
            "cancelled" => JobEndReason::Cancelled,
            "" if self.error.is_some() => return Ok(JobStatus::Gone),
            _ => return Err(ProviderCallFailure::UnreadableResponse),
        };
        // A batch without errors may have an empty `error_file_id`.
        let files = [self.output_file_id, self.error_file_id]
            .into_iter()
            .flatten();
        let files = files.filter(|id| !id.is_empty()).map(ResultLocation::File);
        Ok(JobStatus::Ended {
            results: files.collect(),
            end_reason: why,
        })
    }
}

fn failure_reason(faults: &[BatchError]) -> JobFailureReason {
    let limit = |fault: &BatchError| fault.code.as_deref() == Some("token_limit_exceeded");
    if faults.iter().any(limit) {
        return JobFailureReason::TokenLimit;
    }
    let message = |fault: &BatchError| fault.message.clone().or_else(|| fault.code.clone());
    let lines: Vec<(u64, String)> = faults
        .iter()
        .filter_map(|fault| Some((fault.line?, message(fault).unwrap_or_default())))
        .collect();
    if !lines.is_empty() {
        return JobFailureReason::InvalidLines(lines);
    }
    let first = faults.first().and_then(message);
    JobFailureReason::Other(first.unwrap_or_else(|| "the provider gave no reason".to_owned()))
}
