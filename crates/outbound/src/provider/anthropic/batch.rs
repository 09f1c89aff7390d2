//! A batch as Anthropic describes it.

use std::time::Duration;

use domain::time::Timestamp;
use serde::Deserialize;

use crate::provider::Job;
use crate::provider::call::CallFailure;
use crate::provider::jobs::{Candidate, Ending, ResultFile, Sight};
use crate::provider::pages::Page;

#[derive(Debug, Deserialize)]
pub(super) struct Batch {
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
pub(super) struct List {
    data: Vec<Batch>,
    #[serde(default)]
    has_more: bool,
    #[serde(default)]
    last_id: Option<String>,
}

impl List {
    pub(super) fn into_page(self) -> Page {
        let last = self.last_id.or_else(|| Some(self.data.last()?.id.clone()));
        Page {
            jobs: self.data.into_iter().map(Batch::candidate).collect(),
            next: last.filter(|_| self.has_more),
        }
    }
}

impl Batch {
    pub(super) fn job(self) -> Job {
        Job(self.id)
    }

    fn candidate(self) -> Candidate {
        Candidate {
            created_at: self.created_at,
            items: Some(self.request_counts.total()),
            exact: false,
            job: Job(self.id),
        }
    }

    pub(super) fn sight(self, hint: Option<Duration>) -> Result<Sight, CallFailure> {
        match self.processing_status.as_str() {
            // Nothing but what is processed is counted before the end.
            "in_progress" | "canceling" => Ok(Sight::Running {
                hint,
                done: self.request_counts.done(),
                total: self.request_counts.total(),
            }),
            "ended" if self.archived_at.is_some() => Ok(Sight::Gone),
            "ended" => Ok(Sight::Ended {
                results: vec![ResultFile::OfJob],
                why: self.why(),
            }),
            _ => Err(CallFailure::Unreadable),
        }
    }

    fn why(&self) -> Ending {
        if self.cancel_initiated_at.is_some() {
            Ending::Cancelled
        } else if self.request_counts.expired > 0 {
            Ending::Expired
        } else {
            Ending::Completed
        }
    }
}
