//! Admission control in front of a writer: a load that could not be stored soon is refused
//! at once, so that its caller can come back instead of waiting.
//!
//! A burst may fill the whole queue. Once the oldest load has waited for longer than a burst
//! takes, only as many loads may wait as the writer stores within a bounded time. Bytes are
//! bounded at all times, by what the requests are before they are compressed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use domain::id::OrganizationId;

use crate::writer::pace::Pace;

/// The most loads that wait for one writer.
pub(super) const MAX_QUEUED_LOADS: usize = 4096;
/// The most bytes of loads that one writer has not answered; a load that comes alone may be larger.
const MAX_QUEUED_BYTES: usize = 128 << 20;
/// As long as no load waits for longer than this, the queue is a burst and not an overload.
const MAX_BURST_WAIT: Duration = Duration::from_secs(1);
/// In an overload, what waits must be stored within this time.
const MAX_OVERLOAD_WAIT: Duration = Duration::from_secs(3);
/// So many may wait however slow the writer is: from one group it learns its throughput again.
const MIN_QUEUED_LOADS: usize = 64;
/// What a caller is told to wait, at most.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(29);

/// Too much waits already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Overload {
    pub(crate) retry_after_seconds: u32,
}

/// The queue of one writer, as the door sees it.
#[derive(Debug, Default)]
pub(super) struct Admission(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    /// Loads of which no group has begun.
    waiting: usize,
    /// Bytes of all loads that are not answered.
    bytes: usize,
    /// When the oldest load of the group that is being written came.
    oldest: Option<Instant>,
    /// How many loads each organization has here that are not answered.
    organizations: HashMap<OrganizationId, usize>,
    pace: Pace,
}

/// A place in the queue; its bytes are free again when it is dropped.
#[derive(Debug)]
pub(super) struct Ticket {
    admission: Arc<Admission>,
    organization: OrganizationId,
    bytes: usize,
    is_waiting: bool,
    pub(super) since: Instant,
}

impl Admission {
    /// Whether another load may come: asked before anything is spent on it.
    pub(super) fn check(&self, now: Instant) -> Result<(), Overload> {
        self.queue().check(0, now)
    }

    /// A place for a load of so many bytes.
    pub(super) fn admit(
        self: &Arc<Self>,
        organization: OrganizationId,
        bytes: usize,
        now: Instant,
    ) -> Result<Ticket, Overload> {
        let queue = self.queue();
        queue.check(bytes, now)?;
        Ok(self.add(queue, organization, bytes, now))
    }

    /// The same for a load that has waited in another queue: only a full queue refuses it.
    pub(super) fn take_over(self: &Arc<Self>, ticket: &Ticket) -> Result<Ticket, Overload> {
        let queue = self.queue();
        queue.check_limits(ticket.bytes, MAX_QUEUED_LOADS)?;
        Ok(self.add(queue, ticket.organization, ticket.bytes, Instant::now()))
    }

    fn add(
        self: &Arc<Self>,
        mut queue: MutexGuard<'_, Queue>,
        organization: OrganizationId,
        bytes: usize,
        since: Instant,
    ) -> Ticket {
        queue.waiting += 1;
        queue.bytes += bytes;
        *queue.organizations.entry(organization).or_default() += 1;
        Ticket {
            admission: Arc::clone(self),
            organization,
            bytes,
            is_waiting: true,
            since,
        }
    }

    /// Whether loads of this organization are in the queue or being written.
    pub(super) fn has(&self, organization: OrganizationId) -> bool {
        self.queue().organizations.contains_key(&organization)
    }

    /// The most loads of one group: a slow writer's groups must not outlast their deadline.
    pub(super) fn max_group(&self) -> usize {
        self.queue().pace.group()
    }

    pub(super) fn takes_long(&self, size: u32) -> bool {
        self.queue().pace.takes_long(size)
    }

    /// A group is being written whose oldest load came then.
    pub(super) fn begin_group(&self, oldest: Instant) {
        self.queue().oldest = Some(oldest);
    }

    /// It is written: so many of its loads were answered.
    pub(super) fn end_group(&self, size: u32, answered: u32, took: Duration) {
        let mut queue = self.queue();
        queue.oldest = None;
        queue.pace.learn(size, answered, took);
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn check(&self, bytes: usize, now: Instant) -> Result<(), Overload> {
        let is_burst = self
            .oldest
            .is_none_or(|oldest| now.saturating_duration_since(oldest) <= MAX_BURST_WAIT);
        let max_waiting = if is_burst {
            MAX_QUEUED_LOADS
        } else {
            let loads = self.pace.storable_within(MAX_OVERLOAD_WAIT);
            loads.clamp(MIN_QUEUED_LOADS, MAX_QUEUED_LOADS)
        };
        self.check_limits(bytes, max_waiting)
    }

    fn check_limits(&self, bytes: usize, max_waiting: usize) -> Result<(), Overload> {
        let has_room = self.bytes == 0 || self.bytes + bytes <= MAX_QUEUED_BYTES;
        if self.waiting < max_waiting && has_room {
            return Ok(());
        }
        Err(Overload {
            retry_after_seconds: self.retry_after(),
        })
    }

    fn retry_after(&self) -> u32 {
        let wait = self.pace.time_for(self.waiting).min(MAX_RETRY_AFTER);
        u32::try_from(wait.as_secs() + 1).unwrap_or(1)
    }
}

impl Ticket {
    /// Its group begins: it is not in the queue any more.
    pub(super) fn begin(&mut self) {
        if std::mem::take(&mut self.is_waiting) {
            let mut queue = self.admission.queue();
            queue.waiting = queue.waiting.saturating_sub(1);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.begin();
        let mut queue = self.admission.queue();
        queue.bytes = queue.bytes.saturating_sub(self.bytes);
        if let Some(count) = queue.organizations.get_mut(&self.organization) {
            *count -= 1;
            if *count == 0 {
                queue.organizations.remove(&self.organization);
            }
        }
    }
}

#[cfg(test)]
mod tests;
