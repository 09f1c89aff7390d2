//! How batches are filled.

use chrono::TimeDelta;

/// How large a batch may grow, and how long a lane rests after one that was not full.
#[derive(Debug, Clone, Copy)]
pub struct Packing {
    pub most_items: usize,
    pub linger: TimeDelta,
}
