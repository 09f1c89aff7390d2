//! What callers were told: every acknowledged cargo, and every load that was not.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::Value;

/// An acknowledged cargo.
#[derive(Debug, Clone, Copy)]
pub struct Loaded {
    pub at: Instant,
    /// When the request was sent.
    pub sent: Instant,
    /// The process that took it, by its place in the list of targets.
    pub target: Option<usize>,
    /// Its organization's place in the list.
    pub organization: usize,
}

#[derive(Debug, Default)]
pub struct Ledger {
    loaded: Mutex<HashMap<u128, Loaded>>,
    failures: Mutex<BTreeMap<String, u64>>,
}

impl Ledger {
    pub fn acknowledge(&self, cargo: u128, organization: usize) {
        let now = Instant::now();
        let loaded = Loaded {
            at: now,
            sent: now,
            target: None,
            organization,
        };
        open(&self.loaded).insert(cargo, loaded);
    }

    /// The same, with the process that took it and the moment at which it was sent.
    pub fn acknowledge_sent(&self, cargo: u128, organization: usize, target: usize, sent: Instant) {
        let loaded = Loaded {
            at: Instant::now(),
            sent,
            target: Some(target),
            organization,
        };
        open(&self.loaded).insert(cargo, loaded);
    }

    /// Counts a load that got no 2xx, by what came instead.
    pub fn fail(&self, reason: impl Into<String>) {
        *open(&self.failures).entry(reason.into()).or_default() += 1;
    }

    pub fn count(&self) -> usize {
        open(&self.loaded).len()
    }

    pub fn loaded(&self) -> HashMap<u128, Loaded> {
        open(&self.loaded).clone()
    }

    pub fn failed(&self) -> u64 {
        open(&self.failures).values().sum()
    }

    pub fn failures(&self) -> Value {
        open(&self.failures)
            .iter()
            .map(|(reason, count)| (reason.clone(), *count))
            .collect()
    }
}

/// A name for a connection's failure that can be counted.
pub fn reason(error: &io::Error) -> String {
    error.kind().to_string()
}

fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
