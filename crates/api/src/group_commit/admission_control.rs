//! Admission control in front of a writer: a load that cannot be stored soon is refused at
//! once, so that its caller can retry later instead of waiting.
//!
//! A burst may fill the whole queue. When the oldest load has waited for longer than a burst
//! takes, only as many loads may wait as the writer stores within a bounded time. The bytes of
//! all loads, before compression, are always bounded.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::id::OrganizationId;
use parking_lot::{Mutex, MutexGuard};

use crate::group_commit::throughput::{ThroughputModel, WrittenGroup};

pub(super) const MAX_QUEUED_LOADS: usize = 8192;
/// Of all loads that one writer has not answered. A single load in an empty queue may be larger.
const MAX_QUEUED_BYTES: usize = 256 << 20;
/// While no load has waited for longer than this, the queue counts as a burst, not an overload.
const MAX_BURST_WAIT: Duration = Duration::from_secs(1);
/// In an overload, the queued loads must be stored within this time.
const MAX_OVERLOAD_WAIT: Duration = Duration::from_secs(3);
/// Allowed however slow the writer is, so that it can measure its throughput again.
const MIN_QUEUED_LOADS: usize = 64;
const MAX_RETRY_AFTER: Duration = Duration::from_secs(29);

/// The queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Overload {
    pub(crate) retry_after_seconds: u32,
}

/// Decides which loads may enter the queue of one writer.
#[derive(Debug, Default)]
pub(super) struct AdmissionControl(Mutex<QueueState>);

#[derive(Debug, Default)]
struct QueueState {
    /// Loads whose group has not started.
    waiting: usize,
    /// Bytes of all loads that are not answered.
    bytes: usize,
    /// When the oldest load of each group that is being written was queued.
    oldest: Vec<Instant>,
    /// When the last group was written.
    last_end: Option<Instant>,
    /// How many unanswered loads each organization has in this queue.
    organizations: HashMap<OrganizationId, usize>,
    throughput: ThroughputModel,
}

/// A place in the queue. Dropping it frees its bytes.
#[derive(Debug)]
pub(super) struct QueueTicket {
    admission: Arc<AdmissionControl>,
    organization: OrganizationId,
    bytes: usize,
    is_waiting: bool,
    pub(super) queued_at: Instant,
}

impl AdmissionControl {
    /// Whether there is room for another load. Checked before its body is read.
    pub(super) fn check(&self, now: Instant) -> Result<(), Overload> {
        self.0.lock().check(0, now)
    }

    /// Reserves a place for a load of `bytes`.
    pub(super) fn admit(
        self: &Arc<Self>,
        organization: OrganizationId,
        bytes: usize,
        now: Instant,
    ) -> Result<QueueTicket, Overload> {
        let queue = self.0.lock();
        queue.check(bytes, now)?;
        Ok(self.add(queue, organization, bytes, now))
    }

    /// Reserves a place for a load from another queue. Only a full queue refuses it.
    pub(super) fn transfer(
        self: &Arc<Self>,
        ticket: &QueueTicket,
    ) -> Result<QueueTicket, Overload> {
        let queue = self.0.lock();
        queue.check_limits(ticket.bytes, MAX_QUEUED_LOADS)?;
        Ok(self.add(queue, ticket.organization, ticket.bytes, Instant::now()))
    }

    fn add(
        self: &Arc<Self>,
        mut queue: MutexGuard<'_, QueueState>,
        organization: OrganizationId,
        bytes: usize,
        since: Instant,
    ) -> QueueTicket {
        queue.waiting += 1;
        queue.bytes += bytes;
        *queue.organizations.entry(organization).or_default() += 1;
        QueueTicket {
            admission: Arc::clone(self),
            organization,
            bytes,
            is_waiting: true,
            queued_at: since,
        }
    }

    /// Whether loads of this organization are in the queue or being written.
    pub(super) fn has_loads_of(&self, organization: OrganizationId) -> bool {
        self.0.lock().organizations.contains_key(&organization)
    }

    /// Bounded so that a slow writer's group does not exceed its deadline.
    pub(super) fn max_group_loads(&self) -> usize {
        self.0.lock().throughput.max_group_loads()
    }

    pub(super) fn is_slow_group(&self, size: u32) -> bool {
        self.0.lock().throughput.is_slow_group(size)
    }

    /// A group whose oldest load was queued at `oldest` is being written.
    pub(super) fn begin_group(&self, oldest: Instant) {
        self.0.lock().oldest.push(oldest);
    }

    /// The group is written.
    pub(super) fn end_group(&self, oldest: Instant, group: WrittenGroup, now: Instant) {
        let mut queue = self.0.lock();
        let mut begun = queue.oldest.iter();
        if let Some(place) = begun.position(|it| *it == oldest) {
            queue.oldest.swap_remove(place);
        }
        // Groups overlap. Only the time since the last one ended is counted for this one.
        let last_end = queue.last_end.replace(now);
        let since = last_end.map(|end| now.saturating_duration_since(end));
        let spacing = since.map_or(group.took, |since| since.min(group.took));
        queue.throughput.record_group(group, spacing);
    }
}

impl QueueState {
    fn check(&self, bytes: usize, now: Instant) -> Result<(), Overload> {
        let oldest = self.oldest.iter().min();
        let is_burst = oldest.is_none_or(|it| now.saturating_duration_since(*it) <= MAX_BURST_WAIT);
        let max_waiting = if is_burst {
            MAX_QUEUED_LOADS
        } else {
            let loads = self.throughput.storable_within(MAX_OVERLOAD_WAIT);
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
        let wait = self.throughput.time_for(self.waiting).min(MAX_RETRY_AFTER);
        u32::try_from(wait.as_secs() + 1).unwrap_or(1)
    }
}

impl QueueTicket {
    /// Its group starts, so it no longer counts as waiting.
    pub(super) fn begin(&mut self) {
        if std::mem::take(&mut self.is_waiting) {
            let mut queue = self.admission.0.lock();
            queue.waiting = queue.waiting.saturating_sub(1);
        }
    }
}

impl Drop for QueueTicket {
    fn drop(&mut self) {
        self.begin();
        let mut queue = self.admission.0.lock();
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
