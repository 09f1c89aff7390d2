//! How long an account's jobs take in each state, and how its realtime answers go.

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

/// In milliseconds of the simulator's clock; what is left out of a document has its default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pace {
    pub validating_ms: u32,
    pub running_ms: u32,
    pub finalizing_ms: u32,
    pub cancelling_ms: u32,
    /// When a job expires, if not after the provider's own window.
    pub window_ms: Option<u32>,
    /// How long a realtime answer takes.
    pub answer_ms: u32,
    /// How many realtime answers are worked on at once; the others wait.
    pub slots: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            validating_ms: 100,
            running_ms: 200,
            finalizing_ms: 100,
            cancelling_ms: 100,
            window_ms: None,
            answer_ms: 0,
            slots: 8,
        }
    }
}

pub fn milliseconds(count: u32) -> TimeDelta {
    TimeDelta::milliseconds(i64::from(count))
}
