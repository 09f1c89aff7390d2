//! A batch as Gemini describes it: a long-running operation whose numbers are texts.

use std::time::Duration;

use domain::time::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::provider::Job;
use crate::provider::call::CallFailure;
use crate::provider::jobs::{Candidate, Ending, JobFault, ResultFile, Sight, Sought};
use crate::provider::no::{No, as_http};
use crate::provider::pages::Page;

#[derive(Debug, Deserialize)]
pub(super) struct Operation {
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
    /// The same as `response`; either may be there alone.
    output: Output,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Output {
    responses_file: Option<String>,
    inlined_responses: Inlined,
    inlined_embed_content_responses: Inlined,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Inlined {
    inlined_responses: Vec<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct List {
    #[serde(default)]
    operations: Vec<Operation>,
    #[serde(default)]
    next_page_token: Option<String>,
}

impl List {
    pub(super) fn into_page(self, sought: &Sought) -> Page {
        let jobs = self.operations.into_iter().map(|it| it.candidate(sought));
        Page {
            jobs: jobs.collect(),
            next: self.next_page_token.filter(|token| !token.is_empty()),
        }
    }
}

impl Operation {
    pub(super) fn job(self) -> Result<Job, CallFailure> {
        if self.name.is_empty() {
            return Err(CallFailure::Unknown("the job has no name".to_owned()));
        }
        Ok(Job(self.name))
    }

    fn candidate(self, sought: &Sought) -> Candidate {
        Candidate {
            // Without a moment it may be of any age: it is not passed over.
            created_at: self.metadata.create_time.unwrap_or(sought.since),
            items: self.count("requestCount"),
            exact: self.metadata.display_name == sought.label.0,
            job: Job(self.name),
        }
    }

    fn count(&self, name: &str) -> Option<u64> {
        let count = self.metadata.batch_stats.get(name)?;
        count.as_u64().or_else(|| count.as_str()?.parse().ok())
    }

    pub(super) fn sight(self, hint: Option<Duration>) -> Result<Sight, CallFailure> {
        let state = self.metadata.state.as_str();
        // The interface and its libraries have different names for the same.
        let state = state
            .trim_start_matches("BATCH_STATE_")
            .trim_start_matches("JOB_STATE_");
        let why = match state {
            // What is not specified may be left out.
            "" if self.done => return Err(CallFailure::Unreadable),
            "" | "PENDING" | "QUEUED" | "RUNNING" | "UNSPECIFIED" | "CANCELLING" => {
                let count = |name: &str| self.count(name).unwrap_or_default();
                let done =
                    count("successfulRequestCount").saturating_add(count("failedRequestCount"));
                let total = count("requestCount");
                return Ok(Sight::Running { hint, done, total });
            }
            "SUCCEEDED" | "PARTIALLY_SUCCEEDED" => Ending::Completed,
            "EXPIRED" => Ending::Expired,
            "CANCELLED" => Ending::Cancelled,
            "FAILED" => {
                let reason = self.fault();
                return Ok(Sight::Failed { reason });
            }
            _ => return Err(CallFailure::Unreadable),
        };
        Ok(Sight::Ended {
            results: self.results(),
            why,
        })
    }

    fn fault(&self) -> JobFault {
        let no = self.error.as_ref().map(No::of).unwrap_or_default();
        if no.code == "RESOURCE_EXHAUSTED" || no.number.map(as_http) == Some(429) {
            return JobFault::TokenLimit;
        }
        JobFault::Other(no.words(no.number.map_or(500, as_http)))
    }

    fn results(&self) -> Vec<ResultFile> {
        let outputs = [&self.response, &self.metadata.output];
        let mut files = outputs.iter().filter_map(|it| it.responses_file.as_ref());
        if let Some(name) = files.find(|name| !name.is_empty()) {
            return vec![ResultFile::Named(name.clone())];
        }
        let inline = outputs
            .iter()
            .any(|output| output.inline().next().is_some());
        inline.then_some(ResultFile::OfJob).into_iter().collect()
    }

    /// Answers that stand in the job itself, each as a line.
    pub(super) fn inline_lines(&self) -> impl Iterator<Item = String> {
        let outputs = [&self.response, &self.metadata.output];
        let told = outputs.into_iter().find(|it| it.inline().next().is_some());
        let answers = told.into_iter().flat_map(Output::inline);
        // Between tokens a document may be broken into lines; inside a text it cannot be.
        answers.map(|answer| format!("{}\n", answer.get().replace(['\n', '\r'], " ")))
    }
}

impl Output {
    fn inline(&self) -> impl Iterator<Item = &RawValue> {
        let chats = self.inlined_responses.inlined_responses.iter();
        let vectors = self
            .inlined_embed_content_responses
            .inlined_responses
            .iter();
        chats.chain(vectors).map(|answer| &**answer)
    }
}
