//! The unwrapped data keys of a shard in one process: few, and for a short time.

use std::sync::Arc;

use chrono::TimeDelta;
use domain::id::ProjectId;
use domain::master_key::MasterKeys;
use domain::recent_map::RecentMap;
use domain::time::Timestamp;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::encryption::envelope::DataKey;
use crate::encryption::key_set::WriteKey;
use crate::single_flight::SingleFlight;

/// After this time a key is compared with its row again: a key that was destroyed or replaced is
/// no longer used.
const CHECK_INTERVAL: TimeDelta = TimeDelta::seconds(10);
/// A load is prepared before it is queued. While it waits, its key may become this old.
const MAX_QUEUED_AGE: TimeDelta = TimeDelta::minutes(1);
/// After this time a key is unwrapped again, so that a master key that was withdrawn is noticed.
const MAX_UNWRAPPED_AGE: TimeDelta = TimeDelta::hours(1);
/// After a failure the master key is not called for this long.
const FAILURE_PAUSE: TimeDelta = TimeDelta::seconds(5);
/// Of each map. The least recently inserted are forgotten first.
const MAX_CACHED_KEYS: usize = 8192;
const MAX_CONCURRENT_UNWRAPS: usize = 8;
/// When fewer uses are left, more are reserved before they are needed.
const MIN_USES_LEFT: u64 = 8192;

#[derive(Debug)]
pub(crate) struct KeyCache {
    /// None: this process has no master key.
    pub(crate) master_keys: Option<Arc<dyn MasterKeys>>,
    state: Mutex<CacheState>,
    unwrap_slots: Semaphore,
    /// For the first read of whether encryption is on.
    pub(crate) first_read: SingleFlight,
}

#[derive(Debug)]
struct CacheState {
    /// Whether encryption is on, and when that was read.
    switch: Option<(bool, Timestamp)>,
    keys: RecentMap<(ProjectId, u32), CachedKey>,
    newest: RecentMap<ProjectId, NewestKey>,
    /// Why the master key failed last, and when.
    failure: Option<(String, Timestamp)>,
}

#[derive(Debug, Clone)]
struct CachedKey {
    key: Arc<DataKey>,
    unwrapped_at: Timestamp,
    checked_at: Timestamp,
}

/// The key that encrypts the new values of a project.
#[derive(Debug, Clone, Copy)]
struct NewestKey {
    number: u32,
    /// How many values this process may still encrypt with it.
    uses_left: u64,
    checked_at: Timestamp,
}

impl KeyCache {
    pub(crate) fn new(master_keys: Option<Arc<dyn MasterKeys>>) -> Self {
        Self {
            master_keys,
            state: Mutex::new(CacheState {
                switch: None,
                keys: RecentMap::new(MAX_CACHED_KEYS),
                newest: RecentMap::new(MAX_CACHED_KEYS),
                failure: None,
            }),
            unwrap_slots: Semaphore::new(MAX_CONCURRENT_UNWRAPS),
            first_read: SingleFlight::default(),
        }
    }

    /// Whether encryption is on, as it was read last, and whether the caller reads it again. One
    /// caller of each interval does. The others go on, also while the database does not answer.
    pub(crate) fn switch(&self, now: Timestamp) -> (Option<bool>, bool) {
        let mut state = self.state.lock();
        match &mut state.switch {
            Some((is_enabled, read_at)) => {
                let is_due = !is_within(*read_at, now, CHECK_INTERVAL);
                if is_due {
                    *read_at = now;
                }
                (Some(*is_enabled), is_due)
            }
            None => (None, true),
        }
    }

    /// As it was read last, if ever.
    pub(crate) fn was_enabled(&self) -> Option<bool> {
        self.state.lock().switch.map(|(is_enabled, _)| is_enabled)
    }

    pub(crate) fn set_enabled(&self, is_enabled: bool, now: Timestamp) {
        self.state.lock().switch = Some((is_enabled, now));
    }

    /// A key that was compared with its row lately.
    pub(crate) fn find(
        &self,
        project: ProjectId,
        number: u32,
        now: Timestamp,
    ) -> Option<Arc<DataKey>> {
        let state = self.state.lock();
        let cached = state.keys.get(&(project, number))?;
        let is_fresh = is_within(cached.checked_at, now, CHECK_INTERVAL);
        (is_fresh && cached.is_unwrapped(now)).then(|| Arc::clone(&cached.key))
    }

    /// The same for a key whose row was just read.
    pub(crate) fn confirm(
        &self,
        project: ProjectId,
        number: u32,
        now: Timestamp,
    ) -> Option<Arc<DataKey>> {
        let mut state = self.state.lock();
        let mut cached = state.keys.get(&(project, number))?.clone();
        if !cached.is_unwrapped(now) {
            return None;
        }
        cached.checked_at = now;
        let key = Arc::clone(&cached.key);
        state.keys.insert((project, number), cached);
        Some(key)
    }

    pub(crate) fn insert(&self, project: ProjectId, key: Arc<DataKey>, now: Timestamp) {
        let number = key.number();
        let cached = CachedKey {
            key,
            unwrapped_at: now,
            checked_at: now,
        };
        self.state.lock().keys.insert((project, number), cached);
    }

    /// Whether uses must be reserved before so many values are encrypted with a key.
    pub(crate) fn lacks_uses(&self, project: ProjectId, number: u32, uses: u64) -> bool {
        let state = self.state.lock();
        let newest = state.newest.get(&project);
        let left = newest.filter(|it| it.number == number);
        left.map_or(0, |it| it.uses_left) < uses + MIN_USES_LEFT
    }

    /// Makes a key the one that encrypts, with this many more uses.
    pub(crate) fn set_newest(&self, project: ProjectId, number: u32, added: u64, now: Timestamp) {
        let mut state = self.state.lock();
        let before = state.newest.get(&project);
        let left = before.filter(|it| it.number == number);
        let newest = NewestKey {
            number,
            uses_left: left.map_or(0, |it| it.uses_left) + added,
            checked_at: now,
        };
        state.newest.insert(project, newest);
    }

    /// The key for so many new values, if it was compared with its row lately and enough uses are
    /// left after that.
    pub(crate) fn take_fresh(
        &self,
        project: ProjectId,
        uses: u64,
        now: Timestamp,
    ) -> Option<WriteKey> {
        self.take(project, uses, MIN_USES_LEFT, CHECK_INTERVAL, now)
    }

    /// The same for values that were prepared before they were queued.
    pub(crate) fn take_prepared(
        &self,
        project: ProjectId,
        uses: u64,
        now: Timestamp,
    ) -> Option<WriteKey> {
        self.take(project, uses, 0, MAX_QUEUED_AGE, now)
    }

    fn take(
        &self,
        project: ProjectId,
        uses: u64,
        spare: u64,
        max_age: TimeDelta,
        now: Timestamp,
    ) -> Option<WriteKey> {
        let mut state = self.state.lock();
        let mut newest = *state.newest.get(&project)?;
        if !is_within(newest.checked_at, now, max_age) || newest.uses_left < uses + spare {
            return None;
        }
        let key = |number| {
            let cached = state.keys.get(&(project, number))?;
            cached.is_unwrapped(now).then(|| Arc::clone(&cached.key))
        };
        let keys = WriteKey::encrypting(key(newest.number)?, key(1)?);
        newest.uses_left -= uses;
        state.newest.insert(project, newest);
        Some(keys)
    }

    /// Bounds how many keys are unwrapped at once. The semaphore is never closed.
    pub(crate) async fn acquire_unwrap_slot(&self) -> Option<SemaphorePermit<'_>> {
        self.unwrap_slots.acquire().await.ok()
    }

    /// Why the master key failed a moment ago.
    pub(crate) fn recent_failure(&self, now: Timestamp) -> Option<String> {
        let state = self.state.lock();
        let failure = state.failure.as_ref();
        let recent = failure.filter(|(_, at)| is_within(*at, now, FAILURE_PAUSE));
        recent.map(|(reason, _)| reason.clone())
    }

    pub(crate) fn set_failure(&self, reason: String, now: Timestamp) {
        self.state.lock().failure = Some((reason, now));
    }
}

impl CachedKey {
    fn is_unwrapped(&self, now: Timestamp) -> bool {
        is_within(self.unwrapped_at, now, MAX_UNWRAPPED_AGE)
    }
}

fn is_within(at: Timestamp, now: Timestamp, age: TimeDelta) -> bool {
    (now - at).abs() < age
}
