//! The callbacks that arrived, by their cargo.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Instant;

use bytes::Bytes;
use parking_lot::Mutex;

use crate::harness::{PRICED_MODEL, find_bytes, find_cargo_id};

/// The model field of a priced model's callback; the names of all of them share a prefix.
static PRICED_MODEL_FIELD: LazyLock<String> =
    LazyLock::new(|| format!(r#""model":"{PRICED_MODEL}"#));

/// The callbacks of one cargo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallbackReceipt {
    pub count: u32,
    /// A success of a priced model.
    pub is_billed: bool,
    pub first_at: Instant,
    pub last_at: Instant,
}

#[derive(Debug)]
pub struct CallbackReceipts {
    keeps_bodies: bool,
    received: Mutex<ReceivedCallbacks>,
}

#[derive(Debug, Default)]
struct ReceivedCallbacks {
    by_cargo: HashMap<u128, CallbackReceipt>,
    /// The body of the first callback of each cargo, if the sink keeps bodies.
    bodies: HashMap<u128, Bytes>,
    billed: u64,
    callbacks: u64,
    unsuccessful: u64,
    malformed: u64,
}

impl CallbackReceipts {
    pub fn new(keeps_bodies: bool) -> Self {
        Self {
            keeps_bodies,
            received: Mutex::default(),
        }
    }

    /// Records a callback; returns its cargo and how many callbacks that cargo has had.
    pub fn record_callback(&self, body: &Bytes) -> Option<(u128, u32)> {
        let cargo = find_cargo_id(body);
        let is_success = find_bytes(body, b"\"success\":true").is_some();
        let is_billed = is_success && find_bytes(body, PRICED_MODEL_FIELD.as_bytes()).is_some();
        let now = Instant::now();
        let received = &mut *self.received.lock();
        let Some(cargo) = cargo else {
            received.malformed += 1;
            return None;
        };
        received.callbacks += 1;
        received.unsuccessful += u64::from(!is_success);
        let receipt = received.by_cargo.entry(cargo).or_insert(CallbackReceipt {
            count: 0,
            is_billed: false,
            first_at: now,
            last_at: now,
        });
        receipt.count += 1;
        receipt.last_at = now;
        received.billed += u64::from(is_billed && !receipt.is_billed);
        receipt.is_billed |= is_billed;
        if receipt.count == 1 && self.keeps_bodies {
            received.bodies.insert(cargo, body.clone());
        }
        Some((cargo, receipt.count))
    }

    pub fn find(&self, cargo: u128) -> Option<CallbackReceipt> {
        self.received.lock().by_cargo.get(&cargo).copied()
    }

    /// The first body of each cargo; none if the sink does not keep them.
    pub fn bodies(&self) -> HashMap<u128, Bytes> {
        self.received.lock().bodies.clone()
    }

    /// The number of different cargo with a callback.
    pub fn count_cargo(&self) -> u64 {
        u64::try_from(self.received.lock().by_cargo.len()).unwrap_or(u64::MAX)
    }

    /// The number of different priced cargo with a successful callback.
    pub fn count_billed(&self) -> u64 {
        self.received.lock().billed
    }

    /// Callbacks beyond the first of their cargo.
    pub fn count_duplicates(&self) -> u64 {
        let callbacks = self.received.lock().callbacks;
        callbacks.saturating_sub(self.count_cargo())
    }

    /// Callbacks with a failed outcome.
    pub fn count_unsuccessful(&self) -> u64 {
        self.received.lock().unsuccessful
    }

    /// Requests that do not have the contract's form of a callback.
    pub fn count_malformed(&self) -> u64 {
        self.received.lock().malformed
    }
}
