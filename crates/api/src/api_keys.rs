//! The cache of API keys, which authenticates callers.
//!
//! A node looks a key up in control once and then caches it. It follows control's
//! change feed and removes the keys that a change affects, so a revoked key stops
//! working within about a second. While control is unreachable, cached keys stay
//! valid for a limited time. A key that is not cached cannot be checked then, and its
//! caller gets 503.

mod berth_map;
mod cached_key;
mod change_feed;
mod control_monitor;
mod lookup_cache;
#[cfg(test)]
mod tests;
mod usage_queue;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use domain::api_key::{ApiKey, ApiKeyRefusal, SecretDigest};
use domain::id::Berth;
use domain::key_scope::{KeyRight, KeyScopeRefusal};
use domain::time::{Clock, Timestamp};
use store::control::api_key::{self, ApiKeyPrincipal};
use store::control::berth;
use store::{Control, Error};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::timeout;

use crate::api_keys::berth_map::BerthMap;
use crate::api_keys::cached_key::CachedKey;
use crate::api_keys::control_monitor::ControlMonitor;
use crate::api_keys::lookup_cache::{CachedLookup, KeyLookupCache};
use crate::api_keys::usage_queue::KeyUsageQueue;
use crate::caller::Caller;

/// A flood of unknown keys must leave connections for the feed, and must queue here
/// rather than at the pool.
const MAX_CONCURRENT_LOOKUPS: usize = 8;
/// How long a lookup may wait for a permit.
const LOOKUP_QUEUE_TIMEOUT: Duration = Duration::from_secs(1);
/// `Retry-After` when a key cannot be checked.
const RETRY_AFTER_SECONDS: u32 = 2;

/// The settings of the key cache.
#[derive(Debug, Clone, Copy)]
pub struct ApiKeyCacheOptions {
    /// How long a cached key stays valid after the last contact with control.
    pub stale_after: Duration,
    /// How many keys are cached.
    pub capacity: usize,
    /// How long control may take for an answer. After that it counts as unreachable.
    pub control_timeout: Duration,
}

impl Default for ApiKeyCacheOptions {
    fn default() -> Self {
        Self {
            stale_after: Duration::from_mins(15),
            capacity: 200_000,
            control_timeout: Duration::from_secs(2),
        }
    }
}

/// The state of this node's connection to control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlStatus {
    /// When the feed was last read; nothing for a node that has just started.
    pub last_seen: Option<Timestamp>,
    /// The last query failed.
    pub is_unreachable: bool,
    /// The last contact is so long ago that cached keys are no longer valid.
    pub is_stale: bool,
}

/// Why a caller is not authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthenticationError {
    Refused(ApiKeyRefusal),
    OutOfScope(KeyScopeRefusal),
    /// The key is not cached, and control does not answer.
    ControlUnavailable {
        retry_after: u32,
    },
}

impl From<ApiKeyRefusal> for AuthenticationError {
    fn from(refusal: ApiKeyRefusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<KeyScopeRefusal> for AuthenticationError {
    fn from(refusal: KeyScopeRefusal) -> Self {
        Self::OutOfScope(refusal)
    }
}

const CONTROL_UNAVAILABLE: AuthenticationError = AuthenticationError::ControlUnavailable {
    retry_after: RETRY_AFTER_SECONDS,
};

#[derive(Debug)]
pub struct ApiKeyCache {
    control: Control,
    /// Follows the control database's clock, which the feed reports.
    clock: Arc<dyn Clock>,
    lookups: KeyLookupCache,
    control_monitor: ControlMonitor,
    usage_queue: KeyUsageQueue,
    berths: BerthMap,
    lookup_permits: Semaphore,
    control_timeout: Duration,
    /// The position up to which the feed was read; nothing before the first read.
    feed_position: Mutex<Option<i64>>,
}

impl ApiKeyCache {
    pub fn new(control: Control, options: ApiKeyCacheOptions, clock: Arc<dyn Clock>) -> Self {
        Self {
            control,
            clock,
            lookups: KeyLookupCache::new(options.capacity),
            control_monitor: ControlMonitor::new(options.stale_after),
            usage_queue: KeyUsageQueue::default(),
            berths: BerthMap::default(),
            lookup_permits: Semaphore::new(MAX_CONCURRENT_LOOKUPS),
            control_timeout: options.control_timeout,
            feed_position: Mutex::new(None),
        }
    }

    /// Authenticates the header's value, which is empty if the header is missing, and checks the
    /// key's scope. `address` is the client's, if it is known.
    pub async fn authenticate(
        &self,
        presented: &[u8],
        right: KeyRight,
        address: Option<IpAddr>,
    ) -> Result<Caller, AuthenticationError> {
        if presented.is_empty() {
            return Err(ApiKeyRefusal::Missing.into());
        }
        let digest = ApiKey::parse(presented)?.digest();
        let now = self.clock.now();
        let known = match self.lookups.get(&digest, now) {
            CachedLookup::Hit(known) if self.control_monitor.is_fresh(now) => known,
            CachedLookup::Unknown => return Err(ApiKeyRefusal::Unknown.into()),
            // A stale key is looked up again, like a key that is not cached.
            CachedLookup::Hit(stale) => {
                self.lookups.remove(&digest, &stale);
                Box::pin(self.fetch(digest, now)).await?
            }
            CachedLookup::Miss => Box::pin(self.fetch(digest, now)).await?,
        };
        // Expiry depends on the clock alone, so it needs no contact with control.
        known.key_status().admit(now)?;
        if let Some(scope) = known.caller().scope() {
            scope.allows(right, address)?;
        }
        self.usage_queue.record(&known, now, address);
        Ok(known.caller().clone())
    }

    /// The shard of a berth; nothing until control has answered once.
    pub fn shard_of(&self, berth: Berth) -> Option<Arc<str>> {
        self.berths.shard_of(berth)
    }

    pub fn control_status(&self) -> ControlStatus {
        self.control_monitor.status(self.clock.now())
    }

    /// Requests with the same key share one lookup.
    async fn fetch(
        &self,
        digest: SecretDigest,
        now: Timestamp,
    ) -> Result<Arc<CachedKey>, AuthenticationError> {
        let place = match self.lookups.get_or_lock(&digest).await {
            Ok(known) => return Ok(known),
            Err(place) => place,
        };
        // Another request may have found out meanwhile that the key is unknown.
        if matches!(self.lookups.get(&digest, now), CachedLookup::Unknown) {
            return Err(ApiKeyRefusal::Unknown.into());
        }
        let generation = self.lookups.generation();
        let Some(holder) = self.query_control(digest).await? else {
            self.lookups.insert_unknown(digest, now, generation);
            return Err(ApiKeyRefusal::Unknown.into());
        };
        let known = Arc::new(CachedKey::new(&holder));
        self.lookups.insert(place, &digest, &known, generation);
        Ok(known)
    }

    async fn query_control(
        &self,
        digest: SecretDigest,
    ) -> Result<Option<ApiKeyPrincipal>, AuthenticationError> {
        // Too many lookups at once say nothing about control's state.
        let Ok(Ok(_permit)) = timeout(LOOKUP_QUEUE_TIMEOUT, self.lookup_permits.acquire()).await
        else {
            return Err(CONTROL_UNAVAILABLE);
        };
        if !self.control_monitor.may_query(self.clock.now()) {
            return Err(CONTROL_UNAVAILABLE);
        }
        match timeout(self.control_timeout, self.find_principal(digest)).await {
            Ok(Ok(found)) => {
                self.control_monitor.record_answer();
                Ok(found)
            }
            Ok(Err(failure)) => {
                if failure.is_unavailable() {
                    self.control_monitor.record_failure(self.clock.now());
                }
                tracing::warn!(
                    error = &failure as &dyn std::error::Error,
                    "API key lookup failed"
                );
                Err(CONTROL_UNAVAILABLE)
            }
            Err(_) => {
                self.control_monitor.record_failure(self.clock.now());
                tracing::warn!("API key lookup timed out");
                Err(CONTROL_UNAVAILABLE)
            }
        }
    }

    async fn find_principal(&self, digest: SecretDigest) -> Result<Option<ApiKeyPrincipal>, Error> {
        // The first requests of a process may come before the first read of the feed.
        if self.berths.is_empty() {
            self.berths.fill(berth::read_map(&self.control).await?);
        }
        api_key::find_by_digest(&self.control, digest).await
    }
}
