//! Reads the feed of a shard while requests wait there, and wakes them.

use std::sync::Arc;
use std::time::Duration;

use store::Shard;
use store::shard::{completion, feed};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::waiters::registry::WaiterRegistry;

const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// After a query that failed.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// An entry is read for two seconds. A known one is remembered longer than that.
const KNOWN_ENTRY_LIFETIME: Duration = Duration::from_secs(3);
/// How often the rows themselves are read. An entry may be missing: the server has crashed, the
/// feed could not be read, or a commit took longer than two seconds.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// After a longer gap between two reads, entries may be too old to be read: the rows are checked at
/// once. It leaves a transaction half a second between its entry and its commit.
const MAX_READ_GAP: Duration = Duration::from_millis(1500);
const MAX_CARGO_PER_CHECK: usize = 1000;

#[derive(Debug)]
pub(super) struct FeedTail {
    shard: Arc<Shard>,
    registry: Arc<WaiterRegistry>,
    /// Entries that have woken their requests.
    known: Vec<KnownEntry>,
    schedule: CheckSchedule,
}

/// When the rows themselves are read.
#[derive(Debug)]
struct CheckSchedule {
    check_at: Instant,
    /// When the last successful read of the feed began.
    read_at: Instant,
}

impl CheckSchedule {
    /// Requests read their rows after they have registered: earlier entries do not matter.
    fn begin(now: Instant) -> Self {
        Self {
            check_at: now + CHECK_INTERVAL,
            read_at: now,
        }
    }

    /// Counts a successful read of the feed.
    fn add_read(&mut self, began: Instant, ended: Instant) {
        if ended - self.read_at > MAX_READ_GAP {
            self.check_at = ended;
        }
        self.read_at = began;
    }

    /// Whether the rows are to be checked now. Then the next check is planned.
    fn take_due(&mut self, now: Instant) -> bool {
        let is_due = now >= self.check_at;
        if is_due {
            self.check_at = now + CHECK_INTERVAL;
        }
        is_due
    }
}

#[derive(Debug)]
struct KnownEntry {
    id: i64,
    read_at: Instant,
}

impl FeedTail {
    pub(super) fn new(shard: Arc<Shard>, registry: Arc<WaiterRegistry>) -> Self {
        metrics::counter!("longshore_feed_read_failures_total", "shard" => shard.name.to_string())
            .increment(0);
        Self {
            shard,
            registry,
            known: Vec::new(),
            schedule: CheckSchedule::begin(Instant::now()),
        }
    }

    pub(super) async fn run(mut self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            tokio::select! {
                () = self.step() => {}
                () = stop.cancelled() => {}
            }
        }
    }

    async fn step(&mut self) {
        if self.registry.is_empty() {
            self.known.clear();
            self.registry.wait_for_waiters().await;
            self.schedule = CheckSchedule::begin(Instant::now());
            return;
        }
        let delay = self.read().await;
        sleep(delay).await;
    }

    /// Reads once, and returns the time until the next read.
    async fn read(&mut self) -> Duration {
        let began = Instant::now();
        let mut result = self.read_feed().await;
        if result.is_ok() {
            self.schedule.add_read(began, Instant::now());
        }
        if self.schedule.take_due(Instant::now()) {
            result = result.and(self.check_rows().await);
        }
        let Err(failure) = result else {
            return POLL_INTERVAL;
        };
        let shard = self.shard.name.to_string();
        tracing::warn!(
            shard,
            failure = failure.diagnosis(),
            "the feed of completed cargo could not be read; waiting requests are answered late"
        );
        metrics::counter!("longshore_feed_read_failures_total", "shard" => shard).increment(1);
        RETRY_DELAY
    }

    async fn read_feed(&mut self) -> Result<(), store::Error> {
        let now = Instant::now();
        self.known
            .retain(|entry| now - entry.read_at < KNOWN_ENTRY_LIFETIME);
        let known: Vec<i64> = self.known.iter().map(|entry| entry.id).collect();
        for entry in feed::read_recent(&self.shard, &known).await? {
            self.registry.wake_for_entry(&entry);
            self.known.push(KnownEntry {
                id: entry.id,
                read_at: now,
            });
        }
        Ok(())
    }

    async fn check_rows(&self) -> Result<(), store::Error> {
        let awaited = self.registry.awaited_cargo();
        for cargo in awaited.chunks(MAX_CARGO_PER_CHECK) {
            for state in completion::find_completed(&self.shard, cargo).await? {
                self.registry.wake_for_state(state);
            }
        }
        self.registry.wake_for_groups();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECK_MILLIS: u64 = 5000;

    fn after(start: Instant, milliseconds: u64) -> Instant {
        start + Duration::from_millis(milliseconds)
    }

    #[test]
    fn rows_are_checked_every_five_seconds() {
        let start = Instant::now();
        let mut schedule = CheckSchedule::begin(start);
        for read in (0..CHECK_MILLIS).step_by(100) {
            schedule.add_read(after(start, read), after(start, read + 10));
            assert!(!schedule.take_due(after(start, read + 10)));
        }
        assert!(schedule.take_due(after(start, CHECK_MILLIS)));
        assert!(!schedule.take_due(after(start, CHECK_MILLIS + 100)));
    }

    #[test]
    fn rows_are_checked_at_once_after_a_gap_between_reads() {
        let start = Instant::now();
        let mut schedule = CheckSchedule::begin(start);
        schedule.add_read(after(start, 100), after(start, 110));
        // Nothing was read until now. While reads fail, the rows wait for their time.
        assert!(!schedule.take_due(after(start, 1700)));
        schedule.add_read(after(start, 1700), after(start, 1710));
        assert!(schedule.take_due(after(start, 1710)));
        schedule.add_read(after(start, 1810), after(start, 1820));
        assert!(!schedule.take_due(after(start, 1820)));
        // A read that takes long is a gap, too.
        schedule.add_read(after(start, 1920), after(start, 3400));
        assert!(schedule.take_due(after(start, 3400)));
    }
}
