//! What this node remembers: keys it knows, and keys that it knows to be nobody's.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use domain::api_key::Digest;
use domain::time::Timestamp;
use quick_cache::sync::{Cache, DefaultLifecycle, PlaceholderGuard};
use quick_cache::{DefaultHashBuilder, UnitWeighter};
use store::control::change::Change;

use crate::keys::known::Known;

/// Strangers are remembered apart, so that a flood of them pushes out no key.
const STRANGERS: usize = 50_000;
/// How long a stranger stays one, in microseconds; a change ends it sooner.
const STRANGE: i64 = 5_000_000;

#[derive(Debug)]
pub(super) struct Memory {
    known: Cache<Digest, Arc<Known>>,
    strangers: Cache<Digest, i64>,
    /// Raised before anything is forgotten. An answer that was on its way meanwhile may
    /// be from before the change, and is not kept.
    generation: AtomicU64,
}

/// The place of a key that someone is looking up, for whom others wait.
pub(super) type Place<'a> = PlaceholderGuard<
    'a,
    Digest,
    Arc<Known>,
    UnitWeighter,
    DefaultHashBuilder,
    DefaultLifecycle<Digest, Arc<Known>>,
>;

#[derive(Debug)]
pub(super) enum Recall {
    Known(Arc<Known>),
    Stranger,
    Nothing,
}

impl Memory {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            known: Cache::new(capacity),
            strangers: Cache::new(STRANGERS),
            generation: AtomicU64::new(0),
        }
    }

    pub(super) fn recall(&self, digest: &Digest, now: Timestamp) -> Recall {
        if let Some(known) = self.known.get(digest) {
            return Recall::Known(known);
        }
        match self.strangers.get(digest) {
            Some(until) if now.timestamp_micros() < until => Recall::Stranger,
            Some(_) | None => Recall::Nothing,
        }
    }

    /// The key, or the duty to find it; waits while another has that duty.
    pub(super) async fn place(&self, digest: &Digest) -> Result<Arc<Known>, Place<'_>> {
        self.known.get_value_or_guard_async(digest).await
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    pub(super) fn fill(
        &self,
        place: Place<'_>,
        digest: &Digest,
        known: &Arc<Known>,
        generation: u64,
    ) {
        // Those who wait get the answer in any case. A place that was cleared away
        // meanwhile takes nothing, which is as it should be.
        let _ = place.insert(Arc::clone(known));
        if self.generation() != generation {
            self.drop_one(digest, known);
        }
    }

    pub(super) fn note_stranger(&self, digest: Digest, now: Timestamp, generation: u64) {
        self.strangers
            .insert(digest, now.timestamp_micros().saturating_add(STRANGE));
        if self.generation() != generation {
            self.strangers.remove(&digest);
        }
    }

    pub(super) fn drop_one(&self, digest: &Digest, known: &Arc<Known>) {
        self.known
            .remove_if(digest, |kept| Arc::ptr_eq(kept, known));
    }

    /// Forgets whatever these changes are about.
    pub(super) fn forget(&self, changes: &[Change]) {
        let subjects: HashSet<_> = changes.iter().filter_map(|change| change.subject).collect();
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.known.retain(|_, known| {
            let caller = known.caller();
            let about = [
                caller.key.uuid(),
                caller.project.uuid(),
                caller.organization.uuid(),
            ];
            !about.iter().any(|subject| subjects.contains(subject))
        });
        self.strangers.clear();
    }

    pub(super) fn forget_all(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.known.retain(|_, _| false);
        self.strangers.clear();
    }
}
