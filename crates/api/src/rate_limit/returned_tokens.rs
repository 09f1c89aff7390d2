//! Returned tokens. Dropping a token adds it here; the limiter task collects them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::id::OrganizationId;
use domain::plan_limits::RateLimit;
use tokio::sync::Notify;

/// Where a token was taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum TokenOrigin {
    Redis,
    /// A bucket in this process.
    Local,
}

/// The returned tokens of one organization and origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TokenReturn {
    pub(super) organization: OrganizationId,
    pub(super) origin: TokenOrigin,
    pub(super) rate: RateLimit,
    pub(super) count: u32,
}

/// One entry for each organization and origin, so the number of loads in flight bounds it.
#[derive(Debug, Default)]
pub(super) struct ReturnedTokens {
    tokens: Mutex<HashMap<(OrganizationId, TokenOrigin), (RateLimit, u32)>>,
    token_added: Notify,
}

impl ReturnedTokens {
    pub(super) fn push(&self, organization: OrganizationId, origin: TokenOrigin, rate: RateLimit) {
        let mut waiting = self.lock_tokens();
        let entry = waiting.entry((organization, origin)).or_insert((rate, 0));
        *entry = (rate, entry.1.saturating_add(1));
        drop(waiting);
        self.token_added.notify_one();
    }

    pub(super) fn drain(&self) -> Vec<TokenReturn> {
        let mut waiting = self.lock_tokens();
        if waiting.is_empty() {
            return Vec::new();
        }
        let taken = std::mem::take(&mut *waiting);
        drop(waiting);
        let returned = |((organization, origin), (rate, count))| TokenReturn {
            organization,
            origin,
            rate,
            count,
        };
        taken.into_iter().map(returned).collect()
    }

    /// Waits until a token was returned since the last wait.
    pub(super) async fn wait(&self) {
        self.token_added.notified().await;
    }

    fn lock_tokens(
        &self,
    ) -> MutexGuard<'_, HashMap<(OrganizationId, TokenOrigin), (RateLimit, u32)>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
