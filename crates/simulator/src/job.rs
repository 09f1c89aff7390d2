//! A batch job.

use std::sync::Arc;

use chrono::TimeDelta;
use serde_json::Value;

use crate::answer::AnswerFaults;
use crate::cache::CacheCounts;
use crate::clock::SimulatorTime;
use crate::fault::{FaultName, SimulatedFault};
use crate::manifest::SimulatedManifest;
use crate::pace::SimulatedPace;
use crate::request::TaskKind;

mod counts;
mod lines;
mod timeline;

pub use counts::JobCounts;
pub use lines::{ResultLine, SimulatedOutcome};
pub use timeline::{JobEnd, JobPhase, JobTimeline};

#[derive(Debug, Clone)]
pub struct SimulatedJob {
    pub id: String,
    pub request: Arc<JobRequest>,
    pub created_at: SimulatorTime,
    /// Hidden before this time.
    pub visible_at: SimulatorTime,
    /// The completion window.
    pub window: TimeDelta,
    pub pace: SimulatedPace,
    /// The faults it got when it was created.
    pub faults: Vec<SimulatedFault>,
    /// Why the whole job fails, if it does.
    pub validation_errors: Vec<SimulatedValidationError>,
    pub cancel_at: Option<SimulatorTime>,
    pub is_deleted: bool,
}

/// The content of a create call.
#[derive(Debug)]
pub struct JobRequest {
    pub kind: TaskKind,
    pub model: String,
    /// The caller's label, to find the job again.
    pub label: Option<String>,
    pub manifest: SimulatedManifest,
    pub endpoint: String,
    /// The file with the items. None: the items were in the call.
    pub input_file: Option<String>,
    pub metadata: Value,
}

/// One error in a job's input.
#[derive(Debug, Clone)]
pub struct SimulatedValidationError {
    pub code: String,
    pub line: Option<u64>,
    pub message: String,
    pub param: Option<String>,
}

impl SimulatedJob {
    pub fn fault(&self, name: FaultName) -> Option<&SimulatedFault> {
        self.faults.iter().find(|fault| fault.name == name)
    }

    pub fn has(&self, name: FaultName) -> bool {
        self.fault(name).is_some()
    }

    pub fn total(&self) -> usize {
        self.request.manifest.items.len()
    }

    /// What the caches of the account did for an item.
    pub fn cache_counts(&self, index: usize) -> CacheCounts {
        let item = self.request.manifest.items.get(index);
        item.map(|item| item.cache).unwrap_or_default()
    }

    pub fn answer_faults(&self) -> AnswerFaults {
        AnswerFaults {
            usage_missing: self.has(FaultName::UsageMissing),
            usage_absurd: self.has(FaultName::UsageAbsurd),
            is_blocked: self.has(FaultName::SafetyBlock),
        }
    }

    pub fn is_visible(&self, now: SimulatorTime) -> bool {
        !self.is_deleted && self.visible_at <= now
    }
}
