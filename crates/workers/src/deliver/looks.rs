//! When and where deliver looks for what became due.
//!
//! Most looks read a few seconds of the queue. The whole queue is read rarely, a part at a time,
//! because while an old transaction is open it is full of dead rows; and soon after the set of
//! living nodes has changed, because then claims have become free.

use chrono::TimeDelta;
use domain::time::Timestamp;
use store::Shard;
use store::shard::delivery::{self, Destination, DueDestination};
use uuid::Uuid;

const LOOK_INTERVAL: TimeDelta = TimeDelta::milliseconds(50);
/// Commits come out of order: each look reads this much of the time before it again.
const COMMIT_OVERLAP: TimeDelta = TimeDelta::seconds(2);
/// Some commits come very late: now and then a look reads this much again.
const WIDE_OVERLAP: TimeDelta = TimeDelta::seconds(60);
const WIDE_LOOK_INTERVAL: TimeDelta = TimeDelta::seconds(5);
const WHOLE_LOOK_INTERVAL: TimeDelta = TimeDelta::seconds(60);
const MAX_DESTINATIONS_PER_LOOK: usize = 1000;
const NODES_LOOK_INTERVAL: TimeDelta = TimeDelta::seconds(1);
/// After a node came or went: how long, and how often, the whole queue is looked at.
const TAKEOVER_PERIOD: TimeDelta = TimeDelta::seconds(15);
const TAKEOVER_LOOK_INTERVAL: TimeDelta = TimeDelta::seconds(2);

#[derive(Debug)]
pub(super) struct DueLooks {
    looked_at: Timestamp,
    wide_look_at: Timestamp,
    whole_look_at: Timestamp,
    /// How far the look at the whole queue has come.
    position: Option<Destination>,
    nodes: Vec<(Uuid, i32)>,
    nodes_look_at: Timestamp,
    takeover_until: Timestamp,
}

impl Default for DueLooks {
    fn default() -> Self {
        Self {
            looked_at: Timestamp::UNIX_EPOCH,
            wide_look_at: Timestamp::UNIX_EPOCH,
            whole_look_at: Timestamp::UNIX_EPOCH,
            position: None,
            nodes: Vec::new(),
            nodes_look_at: Timestamp::UNIX_EPOCH,
            takeover_until: Timestamp::UNIX_EPOCH,
        }
    }
}

/// What a look has found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) due: Vec<DueDestination>,
    /// A look at the whole queue has begun.
    pub(super) is_whole: bool,
}

impl DueLooks {
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        now >= self.looked_at + LOOK_INTERVAL || now < self.looked_at
    }

    /// The whole queue is looked at next.
    pub(super) fn look_at_whole_queue(&mut self) {
        self.whole_look_at = Timestamp::UNIX_EPOCH;
    }

    pub(super) async fn look(
        &mut self,
        shard: &Shard,
        now: Timestamp,
    ) -> Result<Found, store::Error> {
        self.look_at_nodes(shard, now).await?;
        let mut after = self.looked_at - COMMIT_OVERLAP;
        if now >= self.wide_look_at {
            after = after.min(now - WIDE_OVERLAP);
            self.wide_look_at = now + WIDE_LOOK_INTERVAL;
        }
        let mut found = Found::default();
        if self.position.is_some() || now >= self.whole_look_at {
            found.is_whole = self.position.is_none();
            found.due = self.next_part(shard, now).await?;
        }
        // Before the first look there is no position: the whole queue was looked at instead.
        if self.looked_at > Timestamp::UNIX_EPOCH {
            found
                .due
                .extend(delivery::newly_due(shard, after, now).await?);
        }
        self.looked_at = now;
        Ok(found)
    }

    async fn next_part(
        &mut self,
        shard: &Shard,
        now: Timestamp,
    ) -> Result<Vec<DueDestination>, store::Error> {
        let position = self.position.as_ref();
        let look = delivery::destinations(shard, position, MAX_DESTINATIONS_PER_LOOK, now).await?;
        if self.position.is_none() {
            let interval = if now < self.takeover_until {
                TAKEOVER_LOOK_INTERVAL
            } else {
                WHOLE_LOOK_INTERVAL
            };
            self.whole_look_at = now + interval;
        }
        self.position = look.last;
        Ok(look.due)
    }

    async fn look_at_nodes(&mut self, shard: &Shard, now: Timestamp) -> Result<(), store::Error> {
        if now < self.nodes_look_at {
            return Ok(());
        }
        let nodes = delivery::living_nodes(shard).await?;
        self.nodes_look_at = now + NODES_LOOK_INTERVAL;
        if nodes != self.nodes {
            self.nodes = nodes;
            self.takeover_until = now + TAKEOVER_PERIOD;
            self.look_at_whole_queue();
        }
        Ok(())
    }
}
