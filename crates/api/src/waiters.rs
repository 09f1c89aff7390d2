//! Requests that wait until cargo or a group changes. The feed of their shard wakes them.
//!
//! A request registers first and reads its row afterwards, so that no change falls between the
//! two. It may be woken without reason: it reads its row again and decides.

mod limits;
mod record_reads;
mod registry;
mod tail;

use std::sync::Arc;
use std::time::Duration;

use domain::id::{CargoId, GroupId, ProjectId};
use store::Shard;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::waiters::record_reads::RecordReads;
use crate::waiters::registry::{AwaitedRow, Registration, WaiterRegistry};
use crate::waiters::tail::FeedTail;

pub use crate::waiters::limits::WaitOptions;
pub(crate) use crate::waiters::limits::{WaitLimits, WaitPermit};
pub(crate) use crate::waiters::registry::WaitMilestone;

/// Sent with an answer that came at once because too many requests wait.
pub(crate) const FULL_RETRY_SECONDS: u32 = 2;

/// How many woken requests read their rows at once. One transaction may wake a thousand, and the
/// connections also serve others.
const MAX_CONCURRENT_READS: usize = 4;
/// Waits of this length end at whole seconds of the process, so that one statement reads the records
/// of all that end together. A shorter wait takes as long as its caller asked for.
const MIN_ROUNDED_WAIT: Duration = Duration::from_secs(10);

/// The waiting requests of one shard.
#[derive(Debug)]
pub(crate) struct FeedWaiters {
    registry: Arc<WaiterRegistry>,
    limits: Arc<WaitLimits>,
    /// Ends all waits: the process stops.
    stop: CancellationToken,
    reads: Semaphore,
    record_reads: RecordReads,
    started_at: Instant,
}

impl FeedWaiters {
    pub(crate) fn new(limits: Arc<WaitLimits>, stop: CancellationToken) -> Self {
        metrics::gauge!("longshore_long_polls").increment(0.0);
        Self {
            registry: Arc::default(),
            limits,
            stop,
            reads: Semaphore::new(MAX_CONCURRENT_READS),
            record_reads: RecordReads::default(),
            started_at: Instant::now(),
        }
    }

    /// Starts the task that reads the feed while requests wait.
    pub(crate) fn spawn(&self, shard: &Arc<Shard>, tracker: &TaskTracker, stop: CancellationToken) {
        let tail = FeedTail::new(Arc::clone(shard), Arc::clone(&self.registry));
        tracker.spawn(tail.run(stop));
    }

    /// Registers a request that waits until one of these cargo reaches the milestone. None if too
    /// many requests wait already.
    pub(crate) fn wait_for_cargo(
        &self,
        project: ProjectId,
        cargo: &[CargoId],
        milestone: WaitMilestone,
    ) -> Option<Waiter> {
        let rows = cargo.iter().copied().map(AwaitedRow::Cargo).collect();
        self.register(project, rows, milestone)
    }

    /// Registers a request that waits until a cargo of this group completes. None if too many
    /// requests wait already.
    pub(crate) fn wait_for_group(&self, project: ProjectId, group: GroupId) -> Option<Waiter> {
        let rows = vec![AwaitedRow::Group(group)];
        self.register(project, rows, WaitMilestone::Completed)
    }

    /// When a wait ends that began now and may last until `deadline`: long ones end up to a second
    /// earlier, together with others.
    pub(crate) fn round_deadline(&self, deadline: Instant) -> Instant {
        if deadline - Instant::now() < MIN_ROUNDED_WAIT {
            return deadline;
        }
        let whole_seconds = (deadline - self.started_at).as_secs();
        self.started_at + Duration::from_secs(whole_seconds)
    }

    /// Counts the stream of a listener as a waiting request: it occupies a connection as well. None
    /// if too many requests wait already.
    pub(crate) fn occupy_connection(&self, project: ProjectId) -> Option<WaitPermit> {
        let permit = self.limits.try_acquire(project, 1);
        if permit.is_none() {
            metrics::counter!("longshore_long_polls_refused_total").increment(1);
        }
        permit
    }

    /// Waits until few others read. The semaphore is never closed.
    pub(crate) async fn acquire_read_turn(&self) -> Option<SemaphorePermit<'_>> {
        self.reads.acquire().await.ok()
    }

    fn register(
        &self,
        project: ProjectId,
        rows: Vec<AwaitedRow>,
        milestone: WaitMilestone,
    ) -> Option<Waiter> {
        let Some(permit) = self.limits.try_acquire(project, rows.len()) else {
            metrics::counter!("longshore_long_polls_refused_total").increment(1);
            return None;
        };
        metrics::gauge!("longshore_long_polls").increment(1.0);
        Some(Waiter {
            registration: WaiterRegistry::add(&self.registry, rows, milestone),
            stop: self.stop.clone(),
            _permit: permit,
        })
    }
}

/// A registered request. Dropping it ends the registration.
#[derive(Debug)]
pub(crate) struct Waiter {
    registration: Registration,
    stop: CancellationToken,
    _permit: WaitPermit,
}

/// Why a request no longer waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitEnd {
    /// A row has probably changed.
    Changed,
    TimedOut,
    /// The process stops: the request is answered with what is known now.
    Stopping,
}

impl Waiter {
    /// Waits for a change since the registration, or since the last call.
    pub(crate) async fn wait_until(&self, deadline: Instant) -> WaitEnd {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => WaitEnd::Stopping,
            woken = timeout_at(deadline, self.registration.woken()) => match woken {
                Ok(()) => WaitEnd::Changed,
                Err(_) => WaitEnd::TimedOut,
            },
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        metrics::gauge!("longshore_long_polls").decrement(1.0);
    }
}

/// How long a request has waited for a change. An extension of its response: the time to answer a
/// request is measured without it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitTime(pub(crate) Duration);
