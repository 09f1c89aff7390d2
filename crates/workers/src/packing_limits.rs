//! The limits that gather fills batches to.

use chrono::TimeDelta;

/// How large a batch may be, and how long a lane lingers after one that was not full.
#[derive(Debug, Clone, Copy)]
pub struct PackingLimits {
    pub max_items: usize,
    pub linger: TimeDelta,
}
