//! The batch object of Gemini: a long-running operation, with numbers as strings.

use std::time::Duration;

use domain::time::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::provider::ProviderJobId;
use crate::provider::batch_provider::{
    JobEndReason, JobFailureReason, JobStatus, ListedJob, ResultLocation, SubmissionLabel,
};
use crate::provider::client::ProviderCallFailure;
use crate::provider::job_listing::JobPage;
use crate::provider::provider_error::{ProviderError, http_status_of_code};

#[derive(Debug, Deserialize)]
pub(super) struct GeminiOperation {
    #[serde(default)]
    name: String,
    #[serde(default)]
    done: bool,
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    response: Output,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    display_name: String,
    state: String,
    create_time: Option<Timestamp>,
    batch_stats: Value,
    /// The same as `response`. Either may be missing.
    output: Output,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Output {
    responses_file: Option<String>,
    inlined_responses: InlineResponses,
    inlined_embed_content_responses: InlineResponses,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct InlineResponses {
    inlined_responses: Vec<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiOperationList {
    #[serde(default)]
    operations: Vec<GeminiOperation>,
    #[serde(default)]
    next_page_token: Option<String>,
}

impl GeminiOperationList {
    pub(super) fn into_page(self) -> JobPage {
        let jobs = self
            .operations
            .into_iter()
            .map(GeminiOperation::into_listed_job);
        JobPage {
            jobs: jobs.collect(),
            next: self.next_page_token.filter(|token| !token.is_empty()),
        }
    }
}

impl GeminiOperation {
    pub(super) fn into_job_id(self) -> Result<ProviderJobId, ProviderCallFailure> {
        if self.name.is_empty() {
            return Err(ProviderCallFailure::Indeterminate(
                "the provider returned no job id".to_owned(),
            ));
        }
        Ok(ProviderJobId(self.name))
    }

    fn into_listed_job(self) -> ListedJob {
        let items = self.count("requestCount");
        let label = Some(self.metadata.display_name).filter(|name| !name.is_empty());
        ListedJob {
            job: ProviderJobId(self.name),
            created_at: self.metadata.create_time,
            items,
            label: label.map(SubmissionLabel),
            // The display name has room for the label only.
            owner: None,
            upload: None,
        }
    }

    fn count(&self, name: &str) -> Option<u64> {
        let count = self.metadata.batch_stats.get(name)?;
        count.as_u64().or_else(|| count.as_str()?.parse().ok())
    }

    pub(super) fn into_status(
        self,
        hint: Option<Duration>,
    ) -> Result<JobStatus, ProviderCallFailure> {
        let state = self.metadata.state.as_str();
        // The REST API and the client libraries use different prefixes.
        let state = state
            .trim_start_matches("BATCH_STATE_")
            .trim_start_matches("JOB_STATE_");
        let why = match state {
            // Gemini may omit an unspecified state.
            "" if self.done => return Err(ProviderCallFailure::UnreadableResponse),
            "" | "PENDING" | "QUEUED" | "RUNNING" | "UNSPECIFIED" | "CANCELLING" => {
                let count = |name: &str| self.count(name).unwrap_or_default();
                let done =
                    count("successfulRequestCount").saturating_add(count("failedRequestCount"));
                let total = count("requestCount");
                return Ok(JobStatus::Running {
                    retry_after: hint,
                    done,
                    total,
                });
            }
            "SUCCEEDED" | "PARTIALLY_SUCCEEDED" => JobEndReason::Completed,
            "EXPIRED" => JobEndReason::Expired,
            "CANCELLED" => JobEndReason::Cancelled,
            "FAILED" => {
                let reason = self.failure_reason();
                return Ok(JobStatus::Failed { reason });
            }
            _ => return Err(ProviderCallFailure::UnreadableResponse),
        };
        Ok(JobStatus::Ended {
            results: self.result_locations(),
            end_reason: why,
        })
    }

    fn failure_reason(&self) -> JobFailureReason {
        let error = self
            .error
            .as_ref()
            .map(ProviderError::from_json)
            .unwrap_or_default();
        if error.code == "RESOURCE_EXHAUSTED"
            || error.numeric_code.map(http_status_of_code) == Some(429)
        {
            return JobFailureReason::TokenLimit;
        }
        JobFailureReason::Other(
            error.message_or_default(error.numeric_code.map_or(500, http_status_of_code)),
        )
    }

    fn result_locations(&self) -> Vec<ResultLocation> {
        let outputs = [&self.response, &self.metadata.output];
        let mut files = outputs.iter().filter_map(|it| it.responses_file.as_ref());
        if let Some(name) = files.find(|name| !name.is_empty()) {
            return vec![ResultLocation::File(name.clone())];
        }
        let inline = outputs
            .iter()
            .any(|output| output.inline_results().next().is_some());
        inline.then_some(ResultLocation::Job).into_iter().collect()
    }

    /// The results inside the job, each as one line.
    pub(super) fn inline_result_lines(&self) -> impl Iterator<Item = String> {
        let outputs = [&self.response, &self.metadata.output];
        let output = outputs
            .into_iter()
            .find(|it| it.inline_results().next().is_some());
        let answers = output.into_iter().flat_map(Output::inline_results);
        // JSON allows newlines between tokens, but not inside strings.
        answers.map(|answer| format!("{}\n", answer.get().replace(['\n', '\r'], " ")))
    }
}

impl Output {
    fn inline_results(&self) -> impl Iterator<Item = &RawValue> {
        let chats = self.inlined_responses.inlined_responses.iter();
        let vectors = self
            .inlined_embed_content_responses
            .inlined_responses
            .iter();
        chats.chain(vectors).map(|answer| &**answer)
    }
}
