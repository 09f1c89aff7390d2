//! Tokens that come back: put down by whoever drops a pass, taken up by the desk.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::id::OrganizationId;
use domain::limit::Rate;
use tokio::sync::Notify;

/// Where a token was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    Redis,
    /// A bucket of this process.
    Here,
}

/// Tokens of one organization and origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Returned {
    pub(super) organization: OrganizationId,
    pub(super) origin: Origin,
    pub(super) rate: Rate,
    pub(super) count: u32,
}

/// One entry for each organization that has passes under way, so it is bounded as those are.
#[derive(Debug, Default)]
pub(super) struct Returns {
    waiting: Mutex<HashMap<(OrganizationId, Origin), (Rate, u32)>>,
    told: Notify,
}

impl Returns {
    pub(super) fn put(&self, organization: OrganizationId, origin: Origin, rate: Rate) {
        let mut waiting = self.waiting();
        let entry = waiting.entry((organization, origin)).or_insert((rate, 0));
        *entry = (rate, entry.1.saturating_add(1));
        drop(waiting);
        self.told.notify_one();
    }

    pub(super) fn take(&self) -> Vec<Returned> {
        let mut waiting = self.waiting();
        if waiting.is_empty() {
            return Vec::new();
        }
        let taken = std::mem::take(&mut *waiting);
        drop(waiting);
        let returned = |((organization, origin), (rate, count))| Returned {
            organization,
            origin,
            rate,
            count,
        };
        taken.into_iter().map(returned).collect()
    }

    /// Waits until something was put down since the last wait.
    pub(super) async fn wait(&self) {
        self.told.notified().await;
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<(OrganizationId, Origin), (Rate, u32)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
