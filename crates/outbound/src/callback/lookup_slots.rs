//! Slots for name lookups. Each lookup occupies a thread until it ends, and a slow name server
//! can take ten seconds. So slow names and unknown names each have a share of the slots, and one
//! domain has a few. Names that resolve quickly always find a slot.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use domain::recent_map::RecentMap;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Concurrent lookups of all names.
const MAX_LOOKUPS: usize = 128;
/// Of names that were never looked up, or not for a long time.
const MAX_UNKNOWN_LOOKUPS: usize = 64;
/// Of names whose last lookup was slow or failed.
const MAX_SLOW_LOOKUPS: usize = 32;
/// Of names under one domain, unless they are known to be quick.
const MAX_LOOKUPS_PER_DOMAIN: usize = 8;
/// A lookup that takes longer is slow.
const QUICK_LOOKUP: Duration = Duration::from_millis(500);
/// How many names' speeds are remembered.
const MAX_REMEMBERED_NAMES: usize = 16_384;
/// Above this number of domains, those without a lookup are removed.
const MAX_IDLE_DOMAINS: usize = 1024;

#[derive(Debug)]
pub(super) struct LookupSlots {
    all: Arc<Semaphore>,
    unknown: Arc<Semaphore>,
    slow: Arc<Semaphore>,
    domains: Mutex<HashMap<String, Weak<Semaphore>>>,
    /// Whether the last lookup of a name was quick.
    was_quick: Mutex<RecentMap<String, bool>>,
}

/// Held while a lookup runs.
#[derive(Debug)]
pub(super) struct LookupSlot {
    _permits: Vec<OwnedSemaphorePermit>,
    /// Keeps the domain's semaphore alive while one of its slots is taken.
    _domain: Option<Arc<Semaphore>>,
}

impl Default for LookupSlots {
    fn default() -> Self {
        Self {
            all: Arc::new(Semaphore::new(MAX_LOOKUPS)),
            unknown: Arc::new(Semaphore::new(MAX_UNKNOWN_LOOKUPS)),
            slow: Arc::new(Semaphore::new(MAX_SLOW_LOOKUPS)),
            domains: Mutex::default(),
            was_quick: Mutex::new(RecentMap::new(MAX_REMEMBERED_NAMES)),
        }
    }
}

impl LookupSlots {
    /// Waits for a slot. None: the process is ending.
    pub(super) async fn acquire(&self, name: &str) -> Option<LookupSlot> {
        let was_quick = self.was_quick.lock().get(name).copied();
        let mut permits = Vec::with_capacity(3);
        let mut own = None;
        if was_quick != Some(true) {
            let domain = self.domain(name);
            permits.push(domain.clone().acquire_owned().await.ok()?);
            own = Some(domain);
            let class = if was_quick.is_none() {
                &self.unknown
            } else {
                &self.slow
            };
            permits.push(class.clone().acquire_owned().await.ok()?);
        }
        permits.push(self.all.clone().acquire_owned().await.ok()?);
        Some(LookupSlot {
            _permits: permits,
            _domain: own,
        })
    }

    /// Remembers whether a lookup was quick.
    pub(super) fn record(&self, name: &str, is_found: bool, took: Duration) {
        let is_quick = is_found && took <= QUICK_LOOKUP;
        self.was_quick.lock().insert(name.to_owned(), is_quick);
    }

    fn domain(&self, name: &str) -> Arc<Semaphore> {
        let mut domains = self.domains.lock();
        let key = domain_of(name);
        if let Some(domain) = domains.get(key).and_then(Weak::upgrade) {
            return domain;
        }
        if domains.len() >= MAX_IDLE_DOMAINS {
            domains.retain(|_, domain| domain.strong_count() > 0);
        }
        let domain = Arc::new(Semaphore::new(MAX_LOOKUPS_PER_DOMAIN));
        domains.insert(key.to_owned(), Arc::downgrade(&domain));
        domain
    }
}

/// The last two labels of a name.
fn domain_of(name: &str) -> &str {
    let name = name.trim_end_matches('.');
    let dot = name.rmatch_indices('.').nth(1);
    dot.and_then(|(dot, _)| name.get(dot + 1..)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    const QUICK: Duration = Duration::from_millis(5);
    const SLOW: Duration = Duration::from_secs(10);

    /// The slots that lookups of these names get without waiting.
    fn take(slots: &LookupSlots, names: impl Iterator<Item = String>) -> Vec<LookupSlot> {
        names
            .filter_map(|name| slots.acquire(&name).now_or_never().flatten())
            .collect()
    }

    #[test]
    fn slow_and_unknown_names_leave_slots_to_quick_ones() {
        let slots = LookupSlots::default();
        slots.record("quick.example", true, QUICK);
        let slow = |number| format!("slow{number}.example{number}");
        for number in 0..1000 {
            slots.record(&slow(number), number % 2 == 0, SLOW);
        }
        let slow = take(&slots, (0..1000).map(slow));
        assert_eq!(slow.len(), MAX_SLOW_LOOKUPS);
        let unknown = take(
            &slots,
            (0..1000).map(|number| format!("new.domain{number}")),
        );
        assert_eq!(unknown.len(), MAX_UNKNOWN_LOOKUPS);
        let quick = take(&slots, std::iter::repeat_n("quick.example".to_owned(), 100));
        assert_eq!(
            quick.len(),
            MAX_LOOKUPS - MAX_SLOW_LOOKUPS - MAX_UNKNOWN_LOOKUPS
        );
    }

    #[test]
    fn one_domain_takes_a_few_slots() {
        let slots = LookupSlots::default();
        let names = (0..100).map(|number| format!("a{number}.b.hanging.example"));
        let taken = take(&slots, names);
        assert_eq!(taken.len(), MAX_LOOKUPS_PER_DOMAIN);
        assert!(slots.acquire("other.example2").now_or_never().is_some());
        drop(taken);
        assert!(slots.acquire("a1.hanging.example").now_or_never().is_some());
    }

    #[test]
    fn a_name_that_resolves_quickly_again_leaves_the_slow_ones() {
        let slots = LookupSlots::default();
        slots.record("a.example", false, QUICK);
        let names = (0..100).map(|number| format!("slow.example{number}"));
        let names: Vec<String> = names.collect();
        for name in &names {
            slots.record(name, false, SLOW);
        }
        let _taken = take(&slots, names.into_iter());
        assert!(slots.acquire("a.example").now_or_never().is_none());
        slots.record("a.example", true, QUICK);
        assert!(slots.acquire("a.example").now_or_never().is_some());
    }

    #[test]
    fn a_domain_is_the_last_two_labels() {
        let of = ["a.b.example.com", "example.com.", "localhost", ""].map(domain_of);
        assert_eq!(of, ["example.com", "example.com", "localhost", ""]);
    }
}
