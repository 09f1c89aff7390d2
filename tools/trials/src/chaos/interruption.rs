//! One process cannot work for a while: what it held, who was excused, and who waited.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::process::Process;

/// After its end the process may still find out that it lost its lease.
const REJOIN_GRACE: Duration = Duration::from_secs(8);

/// Which processes a round may interrupt: any, and in the last round one that holds claims.
/// Servers come first in a deployment.
pub fn places(processes: &[Process], is_last: bool) -> Range<usize> {
    let servers = processes.iter().filter(|it| it.is_serving()).count();
    let first = if is_last { servers } else { 0 };
    first..processes.len()
}

/// How an interruption ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The process goes on where it was.
    Continued,
    Killed,
}

/// What the rows said that a process held.
#[derive(Debug, Default, Clone)]
pub struct Held {
    pub lanes: HashSet<i32>,
    /// Of the batches.
    pub cargo: HashSet<Uuid>,
    pub batches: usize,
    pub deliveries: HashSet<Uuid>,
    pub files: usize,
}

impl Held {
    pub fn is_empty(&self) -> bool {
        self.lanes.is_empty() && self.batches == 0 && self.deliveries.is_empty() && self.files == 0
    }

    fn extend(&mut self, more: Self) {
        self.lanes.extend(more.lanes);
        self.cargo.extend(more.cargo);
        self.deliveries.extend(more.deliveries);
        self.batches = self.batches.max(more.batches);
        self.files = self.files.max(more.files);
    }
}

/// One process that was stopped or cut off.
#[derive(Debug, Clone)]
pub struct Interruption {
    pub pid: u32,
    /// Its place among the targets of callers, if it serves.
    pub target: Option<usize>,
    pub began: Instant,
    pub end: Option<(Instant, End)>,
    pub held: Held,
    /// The last moment at which a claim named it while it could not work.
    pub last_held: Option<Instant>,
    /// The same for its lanes.
    pub last_lane_held: Option<Instant>,
}

impl Interruption {
    /// Whether its process cannot work at this moment, or never will again.
    fn is_away(&self) -> bool {
        !matches!(self.end, Some((_, End::Continued)))
    }

    fn excuses(&self, pid: u32, now: Instant) -> bool {
        let is_over = match self.end {
            Some((at, End::Continued)) => now > at + REJOIN_GRACE,
            Some((_, End::Killed)) | None => false,
        };
        self.pid == pid && !is_over
    }

    /// How long its claims stayed with it, if it had any.
    pub fn take_up(&self) -> Option<Duration> {
        Some(self.last_held?.saturating_duration_since(self.began))
    }

    /// Until when its lanes were with it.
    pub fn lanes_until(&self) -> Option<Instant> {
        self.last_lane_held
    }
}

/// Every interruption of a run.
#[derive(Debug, Default)]
pub struct Interruptions(Mutex<Vec<Interruption>>);

impl Interruptions {
    pub fn begin(&self, pid: u32, target: Option<usize>) {
        self.open().push(Interruption {
            pid,
            target,
            began: Instant::now(),
            end: None,
            held: Held::default(),
            last_held: None,
            last_lane_held: None,
        });
    }

    /// Ends the latest.
    pub fn end(&self, how: End) {
        if let Some(latest) = self.open().last_mut() {
            latest.end = Some((Instant::now(), how));
        }
    }

    pub fn all(&self) -> Vec<Interruption> {
        self.open().clone()
    }

    /// Whether this process may lose its lease now.
    pub fn excuse(&self, pid: u32) -> bool {
        let now = Instant::now();
        self.open().iter().any(|it| it.excuses(pid, now))
    }

    /// The processes that cannot work now, or never will again.
    pub fn away(&self) -> Vec<u32> {
        let all = self.open();
        all.iter()
            .filter(|it| it.is_away())
            .map(|it| it.pid)
            .collect()
    }

    pub fn note_held(&self, pid: u32, held: Held) {
        if held.is_empty() {
            return;
        }
        let now = Instant::now();
        let mut all = self.open();
        let latest = all
            .iter_mut()
            .rev()
            .find(|it| it.pid == pid && it.is_away());
        if let Some(latest) = latest {
            latest.last_held = Some(now);
            if !held.lanes.is_empty() {
                latest.last_lane_held = Some(now);
            }
            latest.held.extend(held);
        }
    }

    fn open(&self) -> MutexGuard<'_, Vec<Interruption>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(id: i32) -> Held {
        Held {
            lanes: HashSet::from([id]),
            ..Held::default()
        }
    }

    #[test]
    fn only_what_is_held_while_away_counts() {
        let all = Interruptions::default();
        all.begin(7, None);
        all.note_held(7, lane(1));
        all.note_held(8, lane(2));
        assert_eq!(all.away(), [7]);
        assert!(all.excuse(7) && !all.excuse(8));
        all.end(End::Continued);
        all.note_held(7, lane(3));
        let first = all.all().remove(0);
        assert_eq!(first.held.lanes, HashSet::from([1]));
        assert!(first.take_up().is_some());
        assert!(all.away().is_empty());
        // It still has to find out.
        assert!(all.excuse(7));
    }

    #[test]
    fn a_killed_process_stays_away() {
        let all = Interruptions::default();
        all.begin(7, Some(0));
        all.end(End::Killed);
        assert_eq!(all.away(), [7]);
        assert!(all.excuse(7));
    }
}
