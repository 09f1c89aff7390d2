//! A request that waits for results of a group.

use std::time::Duration;

use domain::id::{GroupId, ProjectId};
use http::HeaderMap;
use http::header::RETRY_AFTER;
use tokio::time::{Instant, sleep};

use crate::state::ShardHandle;
use crate::waiters::{FULL_RETRY_SECONDS, WaitEnd, Waiter};

/// Results that arrive shortly after each other are read together.
const COLLECT_DELAY: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct GroupWaiter {
    /// None if the request does not wait.
    waiter: Option<Waiter>,
    until: Instant,
    is_refused: bool,
    waited: Duration,
}

impl GroupWaiter {
    /// Registers a request before it reads its rows, so that no result is missed. If too many
    /// requests wait already, it does not wait. `wait` is within the limit of the settings.
    pub(super) fn register(
        handle: &ShardHandle,
        project: ProjectId,
        group: GroupId,
        wait: Duration,
    ) -> Self {
        let waiter = if wait.is_zero() {
            None
        } else {
            handle.waiters.wait_for_group(project, group)
        };
        Self {
            is_refused: waiter.is_none() && !wait.is_zero(),
            waiter,
            until: Instant::now() + wait,
            waited: Duration::ZERO,
        }
    }

    /// Waits until the group has probably changed. False if the request should be answered with
    /// what is known now.
    pub(super) async fn wait(&mut self) -> bool {
        let Some(waiter) = &self.waiter else {
            return false;
        };
        let began = Instant::now();
        let is_changed = match waiter.wait_until(self.until).await {
            WaitEnd::Changed => {
                sleep(COLLECT_DELAY).await;
                true
            }
            WaitEnd::TimedOut | WaitEnd::Stopping => false,
        };
        self.waited += began.elapsed();
        is_changed
    }

    /// How long the request has waited.
    pub(super) const fn waited(&self) -> Duration {
        self.waited
    }

    /// Tells the caller when to ask again, if the request could not wait.
    pub(super) fn add_retry_after(&self, headers: &mut HeaderMap) {
        if self.is_refused {
            headers.insert(RETRY_AFTER, FULL_RETRY_SECONDS.into());
        }
    }
}
