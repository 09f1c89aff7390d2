//! Keeps the discovery document, so that visitors who are not signed in cause no calls to the OIDC
//! provider.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use crate::oidc::OidcFailure;

const DOCUMENT_LIFETIME: Duration = Duration::from_mins(10);
/// After a failure the provider is not called again for this long.
const RETRY_DELAY: Duration = Duration::from_secs(5);

/// The last document, or nothing after a failure, and until when that holds.
#[derive(Debug)]
pub(super) struct DiscoveryCache<T>(Mutex<Option<(Instant, Option<Arc<T>>)>>);

impl<T> Default for DiscoveryCache<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T> DiscoveryCache<T> {
    /// Callers wait for the one that fetches: one call is in flight at a time.
    pub(super) async fn get(
        &self,
        now: Instant,
        fetch: impl Future<Output = Result<T, OidcFailure>>,
    ) -> Result<Arc<T>, OidcFailure> {
        let mut cached = self.0.lock().await;
        if let Some((until, document)) = &*cached
            && now < *until
        {
            let failed = || OidcFailure::Unreachable("it failed a few seconds ago".to_owned());
            return document.clone().ok_or_else(failed);
        }
        let fetched = fetch.await.map(Arc::new);
        let lifetime = match fetched {
            Ok(_) => DOCUMENT_LIFETIME,
            Err(_) => RETRY_DELAY,
        };
        *cached = Some((now + lifetime, fetched.as_ref().ok().cloned()));
        fetched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_document_is_fetched_once_and_a_failure_is_retried_later() {
        let (cache, start) = (DiscoveryCache::default(), Instant::now());
        let fail = async { Err(OidcFailure::Refused("no".to_owned())) };
        assert!(cache.get(start, fail).await.is_err());
        // A failure is remembered for a moment.
        assert!(cache.get(start, async { Ok(1) }).await.is_err());
        let later = start + RETRY_DELAY;
        assert_eq!(*cache.get(later, async { Ok(2) }).await.unwrap(), 2);
        assert_eq!(*cache.get(later, async { Ok(3) }).await.unwrap(), 2);
        let later = later + DOCUMENT_LIFETIME;
        assert_eq!(*cache.get(later, async { Ok(4) }).await.unwrap(), 4);
    }
}
