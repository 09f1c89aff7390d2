//! The callbacks that arrived, by their cargo.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};

use crate::harness::http::body_search::{find_bytes, find_cargo_id};
use crate::harness::longshored::catalogue::PRICED_MODEL;

/// So many locks that two callbacks rarely need the same one.
const RECEIPT_SHARDS: usize = 64;
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
    shards: Vec<Mutex<ReceiptShard>>,
    /// The body of the first callback of each cargo, if the sink keeps bodies.
    bodies: Option<Mutex<HashMap<u128, Bytes>>>,
    cargo: AtomicU64,
    billed: AtomicU64,
    callbacks: AtomicU64,
    unsuccessful: AtomicU64,
    malformed: AtomicU64,
}

/// Uses the low bits of an id, which are random already.
#[derive(Debug, Default)]
pub struct LowBitsHasher(u64);

impl Hasher for LowBitsHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u128(&mut self, id: u128) {
        self.0 = u64::try_from(id & u128::from(u64::MAX)).unwrap_or_default();
    }
}

type ReceiptShard = HashMap<u128, CallbackReceipt, BuildHasherDefault<LowBitsHasher>>;

impl CallbackReceipts {
    pub fn new(keeps_bodies: bool) -> Self {
        Self {
            shards: (0..RECEIPT_SHARDS).map(|_| Mutex::default()).collect(),
            bodies: keeps_bodies.then(Mutex::default),
            cargo: AtomicU64::new(0),
            billed: AtomicU64::new(0),
            callbacks: AtomicU64::new(0),
            unsuccessful: AtomicU64::new(0),
            malformed: AtomicU64::new(0),
        }
    }

    fn lock_shard(&self, cargo: u128) -> Option<MutexGuard<'_, ReceiptShard>> {
        let place = usize::try_from(cargo >> 6 & 0x3f).unwrap_or_default();
        let drawer = self.shards.get(place)?;
        Some(drawer.lock())
    }

    /// Records a callback; returns its cargo and how many callbacks that cargo has had.
    pub fn record_callback(&self, body: &Bytes) -> Option<(u128, u32)> {
        let Some(cargo) = find_cargo_id(body) else {
            self.malformed.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        self.callbacks.fetch_add(1, Ordering::Relaxed);
        let is_success = find_bytes(body, b"\"success\":true").is_some();
        if !is_success {
            self.unsuccessful.fetch_add(1, Ordering::Relaxed);
        }
        let is_billed = is_success && find_bytes(body, PRICED_MODEL_FIELD.as_bytes()).is_some();
        let now = Instant::now();
        let mut drawer = self.lock_shard(cargo)?;
        let receipt = drawer.entry(cargo).or_insert(CallbackReceipt {
            count: 0,
            is_billed: false,
            first_at: now,
            last_at: now,
        });
        receipt.count += 1;
        receipt.last_at = now;
        if receipt.count == 1 {
            self.cargo.fetch_add(1, Ordering::Relaxed);
            if let Some(bodies) = &self.bodies {
                bodies.lock().insert(cargo, body.clone());
            }
        }
        if is_billed && !receipt.is_billed {
            receipt.is_billed = true;
            self.billed.fetch_add(1, Ordering::Relaxed);
        }
        Some((cargo, receipt.count))
    }

    pub fn find(&self, cargo: u128) -> Option<CallbackReceipt> {
        self.lock_shard(cargo)?.get(&cargo).copied()
    }

    /// The first body of each cargo; none if the sink does not keep them.
    pub fn bodies(&self) -> HashMap<u128, Bytes> {
        let bodies = self.bodies.as_ref().map(|bodies| bodies.lock().clone());
        bodies.unwrap_or_default()
    }

    /// The number of different cargo with a callback.
    pub fn count_cargo(&self) -> u64 {
        self.cargo.load(Ordering::Relaxed)
    }

    /// The number of different priced cargo with a successful callback.
    pub fn count_billed(&self) -> u64 {
        self.billed.load(Ordering::Relaxed)
    }

    /// Callbacks beyond the first of their cargo.
    pub fn count_duplicates(&self) -> u64 {
        self.callbacks
            .load(Ordering::Relaxed)
            .saturating_sub(self.count_cargo())
    }

    /// Callbacks with a failed outcome.
    pub fn count_unsuccessful(&self) -> u64 {
        self.unsuccessful.load(Ordering::Relaxed)
    }

    /// Requests that do not have the contract's form of a callback.
    pub fn count_malformed(&self) -> u64 {
        self.malformed.load(Ordering::Relaxed)
    }
}
