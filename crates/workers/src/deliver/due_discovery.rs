//! Finds destinations whose deliveries became due.
//!
//! Most discoveries read a few seconds of the queue. The whole queue is read rarely, a part at a
//! time, because it is full of dead rows while an old transaction is open. It is also read soon
//! after the set of living nodes has changed, because then claims have become free.

use chrono::TimeDelta;
use domain::time::Timestamp;
use store::Shard;
use store::shard::delivery::{self, Destination, DueDestination};
use uuid::Uuid;

const DISCOVERY_INTERVAL: TimeDelta = TimeDelta::milliseconds(50);
/// Commits come out of order: each discovery reads this much of the time before it again.
const COMMIT_OVERLAP: TimeDelta = TimeDelta::seconds(2);
/// Some commits come very late: a wide discovery reads this much again.
const WIDE_OVERLAP: TimeDelta = TimeDelta::seconds(60);
const WIDE_DISCOVERY_INTERVAL: TimeDelta = TimeDelta::seconds(5);
const FULL_DISCOVERY_INTERVAL: TimeDelta = TimeDelta::seconds(60);
const MAX_DESTINATIONS_PER_READ: usize = 1000;
const NODE_CHECK_INTERVAL: TimeDelta = TimeDelta::seconds(1);
/// After a node joined or died: how long, and how often, the whole queue is read.
const TAKEOVER_PERIOD: TimeDelta = TimeDelta::seconds(15);
const TAKEOVER_DISCOVERY_INTERVAL: TimeDelta = TimeDelta::seconds(2);

#[derive(Debug)]
pub(super) struct DueDiscovery {
    discovered_at: Timestamp,
    wide_discovery_at: Timestamp,
    full_discovery_at: Timestamp,
    /// How far the read of the whole queue has come.
    position: Option<Destination>,
    nodes: Vec<(Uuid, i32)>,
    node_check_at: Timestamp,
    takeover_until: Timestamp,
}

impl Default for DueDiscovery {
    fn default() -> Self {
        Self {
            discovered_at: Timestamp::UNIX_EPOCH,
            wide_discovery_at: Timestamp::UNIX_EPOCH,
            full_discovery_at: Timestamp::UNIX_EPOCH,
            position: None,
            nodes: Vec::new(),
            node_check_at: Timestamp::UNIX_EPOCH,
            takeover_until: Timestamp::UNIX_EPOCH,
        }
    }
}

/// What a discovery has found.
#[derive(Debug, Default)]
pub(super) struct DiscoveredDestinations {
    pub(super) due: Vec<DueDestination>,
    /// This discovery starts a read of the whole queue.
    pub(super) is_full: bool,
}

impl DueDiscovery {
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        now >= self.discovered_at + DISCOVERY_INTERVAL || now < self.discovered_at
    }

    /// The next discovery reads the whole queue.
    pub(super) fn schedule_full_discovery(&mut self) {
        self.full_discovery_at = Timestamp::UNIX_EPOCH;
    }

    pub(super) async fn discover(
        &mut self,
        shard: &Shard,
        now: Timestamp,
    ) -> Result<DiscoveredDestinations, store::Error> {
        self.check_nodes(shard, now).await?;
        let mut after = self.discovered_at - COMMIT_OVERLAP;
        if now >= self.wide_discovery_at {
            after = after.min(now - WIDE_OVERLAP);
            self.wide_discovery_at = now + WIDE_DISCOVERY_INTERVAL;
        }
        let mut found = DiscoveredDestinations::default();
        if self.position.is_some() || now >= self.full_discovery_at {
            found.is_full = self.position.is_none();
            found.due = self.read_next_part(shard, now).await?;
        }
        // The first discovery reads the whole queue instead.
        if self.discovered_at > Timestamp::UNIX_EPOCH {
            found
                .due
                .extend(delivery::list_newly_due(shard, after, now).await?);
        }
        self.discovered_at = now;
        Ok(found)
    }

    async fn read_next_part(
        &mut self,
        shard: &Shard,
        now: Timestamp,
    ) -> Result<Vec<DueDestination>, store::Error> {
        let position = self.position.as_ref();
        let look = delivery::list_due_destinations(shard, position, MAX_DESTINATIONS_PER_READ, now)
            .await?;
        if self.position.is_none() {
            let interval = if now < self.takeover_until {
                TAKEOVER_DISCOVERY_INTERVAL
            } else {
                FULL_DISCOVERY_INTERVAL
            };
            self.full_discovery_at = now + interval;
        }
        self.position = look.last;
        Ok(look.due)
    }

    async fn check_nodes(&mut self, shard: &Shard, now: Timestamp) -> Result<(), store::Error> {
        if now < self.node_check_at {
            return Ok(());
        }
        let nodes = delivery::list_live_nodes(shard).await?;
        self.node_check_at = now + NODE_CHECK_INTERVAL;
        if nodes != self.nodes {
            self.nodes = nodes;
            self.takeover_until = now + TAKEOVER_PERIOD;
            self.schedule_full_discovery();
        }
        Ok(())
    }
}
