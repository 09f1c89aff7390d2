//! The lookup cache: known keys, and a negative cache of unknown keys.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use domain::api_key::SecretDigest;
use domain::time::Timestamp;
use quick_cache::sync::{Cache, DefaultLifecycle, PlaceholderGuard};
use quick_cache::{DefaultHashBuilder, UnitWeighter};
use store::control::change_feed::ControlChange;

use crate::api_keys::cached_key::CachedKey;

/// Unknown keys have a cache of their own, so that a flood of them evicts no known key.
const MAX_UNKNOWN_KEYS: usize = 50_000;
/// Any change clears the unknown keys earlier.
const UNKNOWN_KEY_TTL_MICROS: i64 = 5_000_000;

#[derive(Debug)]
pub(super) struct KeyLookupCache {
    keys: Cache<SecretDigest, Arc<CachedKey>>,
    unknown_keys: Cache<SecretDigest, i64>,
    /// Raised before every invalidation. A lookup that started with an older generation may
    /// have read the data before the change, so its answer is not cached.
    generation: AtomicU64,
}

/// Held while a key is looked up. Other requests with the same key wait for it.
pub(super) type LookupGuard<'a> = PlaceholderGuard<
    'a,
    SecretDigest,
    Arc<CachedKey>,
    UnitWeighter,
    DefaultHashBuilder,
    DefaultLifecycle<SecretDigest, Arc<CachedKey>>,
>;

#[derive(Debug)]
pub(super) enum CachedLookup {
    Hit(Arc<CachedKey>),
    Unknown,
    Miss,
}

impl KeyLookupCache {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            keys: Cache::new(capacity),
            unknown_keys: Cache::new(MAX_UNKNOWN_KEYS),
            generation: AtomicU64::new(0),
        }
    }

    pub(super) fn get(&self, digest: &SecretDigest, now: Timestamp) -> CachedLookup {
        if let Some(known) = self.keys.get(digest) {
            return CachedLookup::Hit(known);
        }
        match self.unknown_keys.get(digest) {
            Some(until) if now.timestamp_micros() < until => CachedLookup::Unknown,
            Some(_) | None => CachedLookup::Miss,
        }
    }

    /// The key, or the guard to look it up. Waits while another request holds the guard.
    pub(super) async fn get_or_lock(
        &self,
        digest: &SecretDigest,
    ) -> Result<Arc<CachedKey>, LookupGuard<'_>> {
        self.keys.get_value_or_guard_async(digest).await
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    pub(super) fn insert(
        &self,
        place: LookupGuard<'_>,
        digest: &SecretDigest,
        known: &Arc<CachedKey>,
        generation: u64,
    ) {
        // The waiting requests get the answer in any case. If the placeholder was
        // invalidated meanwhile, nothing is inserted, which is right.
        let _ = place.insert(Arc::clone(known));
        if self.generation() != generation {
            self.remove(digest, known);
        }
    }

    pub(super) fn insert_unknown(&self, digest: SecretDigest, now: Timestamp, generation: u64) {
        self.unknown_keys.insert(
            digest,
            now.timestamp_micros()
                .saturating_add(UNKNOWN_KEY_TTL_MICROS),
        );
        if self.generation() != generation {
            self.unknown_keys.remove(&digest);
        }
    }

    pub(super) fn remove(&self, digest: &SecretDigest, known: &Arc<CachedKey>) {
        self.keys.remove_if(digest, |kept| Arc::ptr_eq(kept, known));
    }

    /// Removes all keys that these changes affect.
    pub(super) fn invalidate(&self, changes: &[ControlChange]) {
        let subjects: HashSet<_> = changes.iter().filter_map(|change| change.subject).collect();
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.keys.retain(|_, known| {
            let caller = known.caller();
            let about = [
                caller.key.uuid(),
                caller.project.uuid(),
                caller.organization.uuid(),
            ];
            !about.iter().any(|subject| subjects.contains(subject))
        });
        self.unknown_keys.clear();
    }

    pub(super) fn invalidate_all(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.keys.retain(|_, _| false);
        self.unknown_keys.clear();
    }
}
