//! What happened, in order: told when a seed fails, and asked by the oracle.

use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard};

/// More nodes than there are: the operator is one of them here.
pub(super) const ACTORS: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Log(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    turn: u64,
    lines: Vec<String>,
    /// Of each actor: the last turn in which something went wrong there.
    troubled_at: [Option<u64>; ACTORS],
    /// Of each actor: how many renewals may still find that its lease was lost.
    lapsed: [u32; ACTORS],
    /// Other than by a database that was too slow: a busy machine explains nothing else.
    failed_steps: Vec<String>,
}

impl Log {
    pub(super) fn next_turn(&self) {
        self.lock().turn += 1;
    }

    pub(super) fn turn(&self) -> u64 {
        self.lock().turn
    }

    pub(super) fn tell(&self, line: &str) {
        let mut state = self.lock();
        let turn = state.turn;
        state.lines.push(format!("{turn:4} {line}"));
    }

    /// Something went wrong at an actor: what it was doing may be done again.
    pub(super) fn trouble(&self, actor: usize, why: &str) {
        self.tell(&format!("node {actor}: {why}"));
        let mut state = self.lock();
        state.troubled_at[actor] = Some(state.turn);
    }

    /// The lease of an actor has run out; it learns of it when it renews.
    pub(super) fn lapsed(&self, actor: usize) {
        self.trouble(actor, "its lease runs out");
        self.lock().lapsed[actor] = 2;
    }

    /// Whatever was done between the end of the lease and this may be done again.
    pub(super) fn renewed(&self, actor: usize) {
        let left = self.lock().lapsed[actor];
        if left > 0 {
            self.trouble(actor, "it renewed a lease that had run out");
            self.lock().lapsed[actor] = left - 1;
        }
    }

    /// A step has ended.
    pub(super) fn ended<T: std::fmt::Debug>(
        &self,
        actor: usize,
        stage: &str,
        ended: &Result<T, store::Error>,
    ) {
        match ended {
            Ok(did) => self.tell(&format!("node {actor} {stage}: {did:?}")),
            Err(failure) => {
                let cause = std::error::Error::source(failure).map(ToString::to_string);
                let cause = cause.unwrap_or_default();
                self.trouble(actor, &format!("{stage} failed: {failure}: {cause}"));
                if !failure.is_away() {
                    let line = format!("node {actor} {stage}: {failure}: {cause}");
                    self.lock().failed_steps.push(line);
                }
            }
        }
    }

    /// Whether something went wrong at an actor in this turn or later.
    pub(super) fn was_troubled(&self, actor: usize, since: u64) -> bool {
        self.lock().troubled_at[actor].is_some_and(|at| at >= since)
    }

    pub(super) fn failed_steps(&self) -> Vec<String> {
        self.lock().failed_steps.clone()
    }

    pub(super) fn told(&self) -> String {
        let mut told = String::new();
        for line in &self.lock().lines {
            let _ = writeln!(told, "{line}");
        }
        told
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}
