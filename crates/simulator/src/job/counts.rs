//! Counts the items of a job by result.

use super::{JobEnd, SimulatedJob, SimulatedOutcome};
use crate::clock::SimulatorTime;

#[derive(Debug, Clone, Copy, Default)]
pub struct JobCounts {
    pub answered: usize,
    pub failed: usize,
    pub cancelled: usize,
    pub expired: usize,
}

impl SimulatedJob {
    /// Final counts, or counts of the finished items while the job runs.
    pub fn counts(&self, now: SimulatorTime) -> JobCounts {
        let timeline = self.timeline();
        let mut counts = JobCounts::default();
        if timeline.end == JobEnd::Failed {
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
                self.outcome_if_run(index)
            };
            match outcome {
                SimulatedOutcome::Answered => counts.answered += 1,
                SimulatedOutcome::Failed(_) => counts.failed += 1,
                SimulatedOutcome::Cancelled => counts.cancelled += 1,
                SimulatedOutcome::Expired => counts.expired += 1,
            }
        }
        counts
    }
}
