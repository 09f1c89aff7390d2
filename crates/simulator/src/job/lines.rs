//! The result lines of a job and their order.

use super::{JobEnd, JobTimeline, SimulatedJob};
use crate::fault::FaultName;

/// The result of one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimulatedOutcome {
    Answered,
    Failed(u16),
    Expired,
    Cancelled,
}

#[derive(Debug, Clone, Copy)]
pub enum ResultLine {
    Item(usize, SimulatedOutcome),
    /// An answer with an id that was not in the input.
    Unknown(usize),
    Blank,
}

impl SimulatedJob {
    /// The outcome of an item that runs.
    pub fn outcome_if_run(&self, index: usize) -> SimulatedOutcome {
        if let Some(fault) = self.fault(FaultName::AllFail) {
            return SimulatedOutcome::Failed(fault.status.unwrap_or(400));
        }
        let status = self.request.manifest.items.get(index);
        match status.map(|item| item.status) {
            Some(200) => SimulatedOutcome::Answered,
            Some(status) => SimulatedOutcome::Failed(status),
            None => SimulatedOutcome::Failed(500),
        }
    }

    /// The outcome of an item after the job ended.
    pub fn outcome(&self, timeline: &JobTimeline, index: usize) -> SimulatedOutcome {
        let is_done = index < timeline.done;
        match timeline.end {
            JobEnd::Cancelled if self.has(FaultName::CancelMixed) => match index % 4 {
                0 => self.outcome_if_run(index),
                1 => SimulatedOutcome::Failed(500),
                2 => SimulatedOutcome::Cancelled,
                _ => SimulatedOutcome::Expired,
            },
            JobEnd::Completed => self.outcome_if_run(index),
            JobEnd::Expired | JobEnd::Cancelled if is_done => self.outcome_if_run(index),
            JobEnd::Expired => SimulatedOutcome::Expired,
            JobEnd::Cancelled | JobEnd::Failed => SimulatedOutcome::Cancelled,
        }
    }

    /// The lines whose outcome is `wanted`, changed by faults.
    pub fn lines(&self, wanted: impl Fn(SimulatedOutcome) -> bool) -> Vec<ResultLine> {
        let timeline = self.timeline();
        let mut lines: Vec<ResultLine> = Vec::new();
        for (index, item) in self.request.manifest.items.iter().enumerate() {
            let outcome = self.outcome(&timeline, index);
            if wanted(outcome) {
                lines.extend((0..item.copies).map(|_| ResultLine::Item(index, outcome)));
            }
        }
        if self.has(FaultName::Shuffle) {
            lines.sort_by_key(|line| match line {
                // Scatters neighbours.
                ResultLine::Item(index, _) => index.wrapping_mul(0x9E37_79B9) & 0xFFFF_FFFF,
                ResultLine::Unknown(_) | ResultLine::Blank => usize::MAX,
            });
        }
        lines
    }

    /// The same for the main results, with lost, duplicated and invented lines.
    pub fn main_lines(&self, wanted: impl Fn(SimulatedOutcome) -> bool) -> Vec<ResultLine> {
        let mut lines = self.lines(wanted);
        if let Some(fault) = self.fault(FaultName::MissingLines) {
            lines.truncate(lines.len().saturating_sub(fault.lines()));
        }
        if let Some(fault) = self.fault(FaultName::DuplicateLines) {
            let again: Vec<ResultLine> = lines.iter().copied().take(fault.lines()).collect();
            lines.extend(again);
        }
        if let Some(fault) = self.fault(FaultName::UnknownLines) {
            lines.extend((0..fault.lines()).map(ResultLine::Unknown));
        }
        if self.has(FaultName::BlankLines) {
            lines = lines
                .into_iter()
                .flat_map(|line| [line, ResultLine::Blank])
                .collect();
        }
        lines
    }
}
