//! A batch job: what was ordered, and how it stands at a moment.

use std::sync::Arc;

use chrono::TimeDelta;
use serde_json::Value;

use crate::answer::Habits;
use crate::clock::Moment;
use crate::fault::{Fault, Name};
use crate::manifest::Manifest;
use crate::pace::Pace;
use crate::question::Kind;

mod counts;
mod lines;
mod timeline;

pub use counts::Counts;
pub use lines::{Line, Outcome};
pub use timeline::{End, Phase, Timeline};

#[derive(Debug, Clone)]
pub struct Job {
    pub id: String,
    pub order: Arc<Order>,
    pub created_at: Moment,
    /// Before this nobody sees it.
    pub visible_at: Moment,
    /// How long it may take.
    pub window: TimeDelta,
    pub pace: Pace,
    /// Those that it took along when it was created.
    pub faults: Vec<Fault>,
    /// Why it fails as a whole, if it does.
    pub objections: Vec<Objection>,
    pub cancel_at: Option<Moment>,
    pub is_deleted: bool,
}

/// What a create call asked for.
#[derive(Debug)]
pub struct Order {
    pub kind: Kind,
    pub model: String,
    /// What the caller wrote on it, to know it again.
    pub label: Option<String>,
    pub manifest: Manifest,
    pub endpoint: String,
    /// The file that held the items, if they were not in the call itself.
    pub input_file: Option<String>,
    pub metadata: Value,
}

/// One thing wrong with a job's input.
#[derive(Debug, Clone)]
pub struct Objection {
    pub code: String,
    pub line: Option<u64>,
    pub message: String,
    pub param: Option<String>,
}

impl Job {
    pub fn fault(&self, name: Name) -> Option<&Fault> {
        self.faults.iter().find(|fault| fault.name == name)
    }

    pub fn has(&self, name: Name) -> bool {
        self.fault(name).is_some()
    }

    pub fn total(&self) -> usize {
        self.order.manifest.items.len()
    }

    pub fn habits(&self) -> Habits {
        Habits {
            usage_missing: self.has(Name::UsageMissing),
            usage_absurd: self.has(Name::UsageAbsurd),
            blocked: self.has(Name::SafetyBlock),
        }
    }

    pub fn is_visible(&self, now: Moment) -> bool {
        !self.is_deleted && self.visible_at <= now
    }
}
