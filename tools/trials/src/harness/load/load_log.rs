//! Every acknowledged cargo, and every load that was not acknowledged.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Mutex;
use std::time::Instant;

use serde_json::Value;

use crate::harness::lock::lock;

/// An acknowledged cargo.
#[derive(Debug, Clone, Copy)]
pub struct AcknowledgedLoad {
    pub acknowledged_at: Instant,
    /// When the request was sent.
    pub sent_at: Instant,
    /// The index of the client that sent it.
    pub client: Option<usize>,
    /// The index of its organization.
    pub organization: usize,
}

#[derive(Debug, Default)]
pub struct LoadLog {
    acknowledged: Mutex<HashMap<u128, AcknowledgedLoad>>,
    failures: Mutex<BTreeMap<String, u64>>,
}

impl LoadLog {
    pub fn acknowledge(&self, cargo: u128, organization: usize) {
        let now = Instant::now();
        let loaded = AcknowledgedLoad {
            acknowledged_at: now,
            sent_at: now,
            client: None,
            organization,
        };
        lock(&self.acknowledged).insert(cargo, loaded);
    }

    /// The same, with the client and the time at which it was sent.
    pub fn acknowledge_sent(&self, cargo: u128, organization: usize, target: usize, sent: Instant) {
        let loaded = AcknowledgedLoad {
            acknowledged_at: Instant::now(),
            sent_at: sent,
            client: Some(target),
            organization,
        };
        lock(&self.acknowledged).insert(cargo, loaded);
    }

    /// Counts a load without a 2xx, by status or error.
    pub fn record_failure(&self, reason: impl Into<String>) {
        *lock(&self.failures).entry(reason.into()).or_default() += 1;
    }

    pub fn count_acknowledged(&self) -> usize {
        lock(&self.acknowledged).len()
    }

    pub fn acknowledged(&self) -> HashMap<u128, AcknowledgedLoad> {
        lock(&self.acknowledged).clone()
    }

    pub fn count_failures(&self) -> u64 {
        lock(&self.failures).values().sum()
    }

    pub fn failures_by_reason(&self) -> Value {
        lock(&self.failures)
            .iter()
            .map(|(reason, count)| (reason.clone(), *count))
            .collect()
    }
}

/// The kind of a connection error, so that errors can be counted.
pub fn error_reason(error: &io::Error) -> String {
    error.kind().to_string()
}
