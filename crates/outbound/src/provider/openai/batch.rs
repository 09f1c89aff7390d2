//! A batch as `OpenAI` describes it.

use std::time::Duration;

use chrono::DateTime;
use serde::Deserialize;

use crate::provider::Job;
use crate::provider::call::CallFailure;
use crate::provider::jobs::{Candidate, Ending, JobFault, ResultFile, Sight, Sought};
use crate::provider::pages::Page;

#[derive(Debug, Deserialize)]
pub(super) struct Batch {
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
    /// A batch that vanished is answered with this alone, and with success.
    #[serde(default)]
    error: Option<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    #[serde(default)]
    submission_id: Option<String>,
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
    data: Vec<Fault>,
}

#[derive(Debug, Deserialize)]
struct Fault {
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    line: Option<u64>,
    #[serde(default)]
    message: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct List {
    data: Vec<Batch>,
    #[serde(default)]
    has_more: bool,
    #[serde(default)]
    last_id: Option<String>,
}

impl List {
    pub(super) fn into_page(self, sought: &Sought) -> Page {
        let last = self.last_id.or_else(|| Some(self.data.last()?.id.clone()));
        let jobs = self.data.into_iter().map(|batch| batch.candidate(sought));
        Page {
            jobs: jobs.collect(),
            next: last.filter(|_| self.has_more),
        }
    }
}

impl Batch {
    pub(super) fn job(self) -> Result<Job, CallFailure> {
        if self.id.is_empty() {
            return Err(CallFailure::Unknown("the job has no name".to_owned()));
        }
        Ok(Job(self.id))
    }

    fn candidate(self, sought: &Sought) -> Candidate {
        let label = self.metadata.and_then(|it| it.submission_id);
        let by_label = label.is_some_and(|label| label == sought.label.0);
        let upload = sought.upload.as_ref().map(|upload| upload.0.as_str());
        let by_upload = upload.is_some() && self.input_file_id.as_deref() == upload;
        let items = self.request_counts.map(|counts| counts.total);
        Candidate {
            job: Job(self.id),
            created_at: DateTime::from_timestamp(self.created_at, 0).unwrap_or_default(),
            // Not counted before it is validated.
            items: items.filter(|total| *total > 0),
            exact: by_label || by_upload,
        }
    }

    pub(super) fn sight(self, hint: Option<Duration>) -> Result<Sight, CallFailure> {
        let counts = self.request_counts.unwrap_or_default();
        let why = match self.status.as_str() {
            "validating" | "in_progress" | "finalizing" | "cancelling" => {
                return Ok(Sight::Running {
                    hint,
                    done: counts.completed.saturating_add(counts.failed),
                    total: counts.total,
                });
            }
            "failed" => {
                let faults = self.errors.map(|errors| errors.data).unwrap_or_default();
                return Ok(Sight::Failed {
                    reason: reason(&faults),
                });
            }
            "completed" => Ending::Completed,
            "expired" => Ending::Expired,
            "cancelled" => Ending::Cancelled,
            "" if self.error.is_some() => return Ok(Sight::Gone),
            _ => return Err(CallFailure::Unreadable),
        };
        // A clean batch may name its file of errors with an empty text.
        let files = [self.output_file_id, self.error_file_id]
            .into_iter()
            .flatten();
        let files = files.filter(|id| !id.is_empty()).map(ResultFile::Named);
        Ok(Sight::Ended {
            results: files.collect(),
            why,
        })
    }
}

fn reason(faults: &[Fault]) -> JobFault {
    let limit = |fault: &Fault| fault.code.as_deref() == Some("token_limit_exceeded");
    if faults.iter().any(limit) {
        return JobFault::TokenLimit;
    }
    let words = |fault: &Fault| fault.message.clone().or_else(|| fault.code.clone());
    let lines: Vec<(u64, String)> = faults
        .iter()
        .filter_map(|fault| Some((fault.line?, words(fault).unwrap_or_default())))
        .collect();
    if !lines.is_empty() {
        return JobFault::Lines(lines);
    }
    let said = faults.first().and_then(words);
    JobFault::Other(said.unwrap_or_else(|| "no reason was given".to_owned()))
}
