//! What happened, in order. A failed seed prints it, and the oracle reads it.

use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard};

/// The nodes and the operator.
pub(super) const ACTOR_COUNT: usize = 4;

#[derive(Debug, Default)]
pub(super) struct EventLog(Mutex<EventLogState>);

#[derive(Debug, Default)]
struct EventLogState {
    turn: u64,
    lines: Vec<String>,
    /// For each actor, the last turn in which a fault hit it.
    last_fault_turn: [Option<u64>; ACTOR_COUNT],
    /// For each actor, how many renewals may still find an expired lease.
    lapsed_renewals: [u32; ACTOR_COUNT],
    /// Failures other than an unavailable database, which a busy machine can cause.
    failed_steps: Vec<String>,
}

impl EventLog {
    pub(super) fn next_turn(&self) {
        self.lock().turn += 1;
    }

    pub(super) fn turn(&self) -> u64 {
        self.lock().turn
    }

    pub(super) fn record(&self, line: &str) {
        let mut state = self.lock();
        let turn = state.turn;
        state.lines.push(format!("{turn:4} {line}"));
    }

    /// Records a fault at an actor. Its current work may be repeated.
    pub(super) fn record_fault(&self, actor: usize, why: &str) {
        self.record(&format!("node {actor}: {why}"));
        let mut state = self.lock();
        state.last_fault_turn[actor] = Some(state.turn);
    }

    /// Records that the lease of an actor expired. The actor notices when it renews.
    pub(super) fn record_lapse(&self, actor: usize) {
        self.record_fault(actor, "its lease expires");
        self.lock().lapsed_renewals[actor] = 2;
    }

    /// Records a renewal. Work between the expiry of a lease and its renewal may be repeated.
    pub(super) fn record_renewal(&self, actor: usize) {
        let left = self.lock().lapsed_renewals[actor];
        if left > 0 {
            self.record_fault(actor, "it renewed an expired lease");
            self.lock().lapsed_renewals[actor] = left - 1;
        }
    }

    /// Records the result of a step.
    pub(super) fn record_step<T: std::fmt::Debug>(
        &self,
        actor: usize,
        stage: &str,
        result: &Result<T, store::Error>,
    ) {
        match result {
            Ok(result) => self.record(&format!("node {actor} {stage}: {result:?}")),
            Err(failure) => {
                let cause = std::error::Error::source(failure).map(ToString::to_string);
                let cause = cause.unwrap_or_default();
                self.record_fault(actor, &format!("{stage} failed: {failure}: {cause}"));
                if !failure.is_unavailable() {
                    let line = format!("node {actor} {stage}: {failure}: {cause}");
                    self.lock().failed_steps.push(line);
                }
            }
        }
    }

    /// Whether a fault hit an actor in this turn or later.
    pub(super) fn had_fault_since(&self, actor: usize, since: u64) -> bool {
        self.lock().last_fault_turn[actor].is_some_and(|at| at >= since)
    }

    pub(super) fn failed_steps(&self) -> Vec<String> {
        self.lock().failed_steps.clone()
    }

    pub(super) fn transcript(&self) -> String {
        let mut transcript = String::new();
        for line in &self.lock().lines {
            let _ = writeln!(transcript, "{line}");
        }
        transcript
    }

    fn lock(&self) -> MutexGuard<'_, EventLogState> {
        self.0.lock().unwrap()
    }
}
