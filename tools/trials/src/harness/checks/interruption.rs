//! One process cannot work for a while: what it held, and when it lost its claims.

use std::collections::HashSet;
use std::ops::Range;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use uuid::Uuid;

use crate::harness::LongshoredProcess;

/// After an interruption, a process may still discover that it lost its lease.
const REJOIN_GRACE: Duration = Duration::from_secs(8);

/// Indexes of the processes that a round may interrupt: any, and in the last round only
/// workers, which hold claims. Servers come first in a deployment.
pub fn interruptible_processes(processes: &[LongshoredProcess], is_last: bool) -> Range<usize> {
    let servers = processes.iter().filter(|it| it.serves_callers()).count();
    let first = if is_last { servers } else { 0 };
    first..processes.len()
}

/// How an interruption ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptionEnd {
    /// The process continues where it was.
    Continued,
    Killed,
}

/// The claims of a process in the database.
#[derive(Debug, Default, Clone)]
pub struct HeldClaims {
    pub lanes: HashSet<i32>,
    /// The cargo of its batches.
    pub cargo: HashSet<Uuid>,
    pub batches: usize,
    pub deliveries: HashSet<Uuid>,
    pub files: usize,
}

impl HeldClaims {
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
    /// Its index in the list of clients, if it serves callers.
    pub client: Option<usize>,
    pub began_at: Instant,
    pub end: Option<(Instant, InterruptionEnd)>,
    pub held: HeldClaims,
    /// When a claim last named it during the interruption.
    pub last_held: Option<Instant>,
    /// When a lane last named it during the interruption.
    pub last_lane_held: Option<Instant>,
}

impl Interruption {
    /// Whether the process is still interrupted or was killed.
    fn is_interrupted(&self) -> bool {
        !matches!(self.end, Some((_, InterruptionEnd::Continued)))
    }

    fn excuses_lease_loss(&self, pid: u32, now: Instant) -> bool {
        let is_over = match self.end {
            Some((at, InterruptionEnd::Continued)) => now > at + REJOIN_GRACE,
            Some((_, InterruptionEnd::Killed)) | None => false,
        };
        self.pid == pid && !is_over
    }

    /// How long its claims stayed with it, if it had any.
    pub fn takeover_time(&self) -> Option<Duration> {
        Some(self.last_held?.saturating_duration_since(self.began_at))
    }
}

/// Every interruption of a run.
#[derive(Debug, Default)]
pub struct Interruptions(Mutex<Vec<Interruption>>);

impl Interruptions {
    pub fn begin(&self, pid: u32, target: Option<usize>) {
        self.0.lock().push(Interruption {
            pid,
            client: target,
            began_at: Instant::now(),
            end: None,
            held: HeldClaims::default(),
            last_held: None,
            last_lane_held: None,
        });
    }

    /// Ends the latest interruption.
    pub fn end(&self, how: InterruptionEnd) {
        if let Some(latest) = self.0.lock().last_mut() {
            latest.end = Some((Instant::now(), how));
        }
    }

    pub fn all(&self) -> Vec<Interruption> {
        self.0.lock().clone()
    }

    /// Whether this process may lose its lease now.
    pub fn excuses(&self, pid: u32) -> bool {
        let now = Instant::now();
        self.0
            .lock()
            .iter()
            .any(|it| it.excuses_lease_loss(pid, now))
    }

    /// Process ids that are still interrupted or were killed.
    pub fn interrupted_pids(&self) -> Vec<u32> {
        let all = self.0.lock();
        all.iter()
            .filter(|it| it.is_interrupted())
            .map(|it| it.pid)
            .collect()
    }

    pub fn record_held(&self, pid: u32, held: HeldClaims) {
        if held.is_empty() {
            return;
        }
        let now = Instant::now();
        let mut all = self.0.lock();
        let latest = all
            .iter_mut()
            .rev()
            .find(|it| it.pid == pid && it.is_interrupted());
        if let Some(latest) = latest {
            latest.last_held = Some(now);
            if !held.lanes.is_empty() {
                latest.last_lane_held = Some(now);
            }
            latest.held.extend(held);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(id: i32) -> HeldClaims {
        HeldClaims {
            lanes: HashSet::from([id]),
            ..HeldClaims::default()
        }
    }

    #[test]
    fn only_claims_held_during_the_interruption_count() {
        let all = Interruptions::default();
        all.begin(7, None);
        all.record_held(7, lane(1));
        all.record_held(8, lane(2));
        assert_eq!(all.interrupted_pids(), [7]);
        assert!(all.excuses(7) && !all.excuses(8));
        all.end(InterruptionEnd::Continued);
        all.record_held(7, lane(3));
        let first = all.all().remove(0);
        assert_eq!(first.held.lanes, HashSet::from([1]));
        assert!(first.takeover_time().is_some());
        assert!(all.interrupted_pids().is_empty());
        // The process has yet to discover that it lost its lease.
        assert!(all.excuses(7));
    }

    #[test]
    fn a_killed_process_stays_interrupted() {
        let all = Interruptions::default();
        all.begin(7, Some(0));
        all.end(InterruptionEnd::Killed);
        assert_eq!(all.interrupted_pids(), [7]);
        assert!(all.excuses(7));
    }
}
