//! How many items of a job ended how.

use super::{End, Job, Outcome};
use crate::clock::Moment;

#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    pub answered: usize,
    pub failed: usize,
    pub cancelled: usize,
    pub expired: usize,
}

impl Job {
    /// How many ended how; while it runs, how many are done.
    pub fn counts(&self, now: Moment) -> Counts {
        let timeline = self.timeline();
        let mut counts = Counts::default();
        if timeline.end == End::Failed {
            return counts;
        }
        let is_ended = now >= timeline.ended_at;
        let seen = if is_ended {
            self.total()
        } else {
            self.done_at(self.cancel_at.map_or(now, |at| at.min(now)))
        };
        for index in 0..seen {
            let outcome = if is_ended {
                self.outcome(&timeline, index)
            } else {
                self.fate(index)
            };
            match outcome {
                Outcome::Answered => counts.answered += 1,
                Outcome::Failed(_) => counts.failed += 1,
                Outcome::Cancelled => counts.cancelled += 1,
                Outcome::Expired => counts.expired += 1,
            }
        }
        counts
    }
}
