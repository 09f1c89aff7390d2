//! Which lines the results of a job have, and in which order.

use super::{End, Job, Timeline};
use crate::fault::Name;

/// What became of one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Answered,
    Failed(u16),
    Expired,
    Cancelled,
}

#[derive(Debug, Clone, Copy)]
pub enum Line {
    Item(usize, Outcome),
    /// An answer to an item that nobody sent.
    Unknown(usize),
    Blank,
}

impl Job {
    /// What becomes of an item that is run.
    pub fn fate(&self, index: usize) -> Outcome {
        if let Some(fault) = self.fault(Name::AllFail) {
            return Outcome::Failed(fault.status.unwrap_or(400));
        }
        let status = self.order.manifest.items.get(index);
        match status.map(|item| item.status) {
            Some(200) => Outcome::Answered,
            Some(status) => Outcome::Failed(status),
            None => Outcome::Failed(500),
        }
    }

    /// What has become of an item when the job has ended.
    pub fn outcome(&self, timeline: &Timeline, index: usize) -> Outcome {
        let is_done = index < timeline.done;
        match timeline.end {
            End::Cancelled if self.has(Name::CancelMixed) => match index % 4 {
                0 => self.fate(index),
                1 => Outcome::Failed(500),
                2 => Outcome::Cancelled,
                _ => Outcome::Expired,
            },
            End::Completed => self.fate(index),
            End::Expired | End::Cancelled if is_done => self.fate(index),
            End::Expired => Outcome::Expired,
            End::Cancelled | End::Failed => Outcome::Cancelled,
        }
    }

    /// The results whose outcome is wanted, with what the faults do to them.
    pub fn lines(&self, wanted: impl Fn(Outcome) -> bool) -> Vec<Line> {
        let timeline = self.timeline();
        let mut lines: Vec<Line> = Vec::new();
        for (index, item) in self.order.manifest.items.iter().enumerate() {
            let outcome = self.outcome(&timeline, index);
            if wanted(outcome) {
                lines.extend((0..item.copies).map(|_| Line::Item(index, outcome)));
            }
        }
        if self.has(Name::Shuffle) {
            lines.sort_by_key(|line| match line {
                // Any order that is not the input's: neighbours land far apart.
                Line::Item(index, _) => index.wrapping_mul(0x9E37_79B9) & 0xFFFF_FFFF,
                Line::Unknown(_) | Line::Blank => usize::MAX,
            });
        }
        lines
    }

    /// The same for the main results: lines lost, doubled and made up.
    pub fn main_lines(&self, wanted: impl Fn(Outcome) -> bool) -> Vec<Line> {
        let mut lines = self.lines(wanted);
        if let Some(fault) = self.fault(Name::MissingLines) {
            lines.truncate(lines.len().saturating_sub(fault.lines()));
        }
        if let Some(fault) = self.fault(Name::DuplicateLines) {
            let again: Vec<Line> = lines.iter().copied().take(fault.lines()).collect();
            lines.extend(again);
        }
        if let Some(fault) = self.fault(Name::UnknownLines) {
            lines.extend((0..fault.lines()).map(Line::Unknown));
        }
        if self.has(Name::BlankLines) {
            lines = lines
                .into_iter()
                .flat_map(|line| [line, Line::Blank])
                .collect();
        }
        lines
    }
}
