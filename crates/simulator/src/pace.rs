//! The pace of an account: how long jobs stay in each state and how long realtime answers take.

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

/// In milliseconds of the simulator's clock. Missing fields of a JSON document have defaults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SimulatedPace {
    pub validating_ms: u32,
    pub running_ms: u32,
    pub finalizing_ms: u32,
    pub cancelling_ms: u32,
    /// When a job expires. None: after the provider's window.
    pub window_ms: Option<u32>,
    /// The duration of a realtime answer.
    pub answer_ms: u32,
    /// Concurrent realtime answers. Further calls wait.
    pub slots: usize,
}

impl Default for SimulatedPace {
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
