//! Gather: PENDING cargo of one lane become a batch, organizations taking turns.
//!
//! A lane is gathered by one node at a time, so that it can remember how far it
//! has come with each organization. That memory is a hint: what it cannot know
//! (a commit that came late) is found by looking at everyone again now and then.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use chrono::TimeDelta;
use domain::breaker::Allowance;
use domain::id::{self, BatchId, CargoId, OrganizationId};
use domain::lane::LaneId;
use domain::route::Via;
use domain::time::Timestamp;
use rand::RngExt as _;
use store::Shard;
use store::shard::batch;
use store::shard::lane;
use store::shard::node::Claim;
use store::shard::waiting;

use crate::accounts::{AccountSlots, Accounts};
use crate::chaos;
use crate::gather::queue::Queue;
use crate::lanes::Lanes;
use crate::lease::Lease;
use crate::packing::Packing;
use crate::providers::Providers;
use crate::stage::{Bell, Stage, Step};

mod look;
mod queue;

/// Commits come out of order; this far back arrivals are looked for again.
const OVERLAP: TimeDelta = TimeDelta::seconds(2);
/// How often arrivals are looked for further back, and how far: a commit may take this long.
const LOOK_BACK_INTERVAL: TimeDelta = TimeDelta::seconds(30);
const LOOK_BACK: TimeDelta = TimeDelta::seconds(90);
/// How often cargo that came back is looked for.
const RETURNED_INTERVAL: TimeDelta = TimeDelta::seconds(1);
/// How often lanes without a gatherer are looked for.
const LOOK_FOR_LANES: TimeDelta = TimeDelta::milliseconds(200);

#[derive(Debug)]
pub struct Gather {
    shard: Arc<Shard>,
    lease: Lease,
    packing: Packing,
    providers: Arc<Providers>,
    gathered: Bell,
    held_as: Claim,
    queues: HashMap<LaneId, Queue>,
    /// Lanes that an operator paused; what waits there stays.
    paused: HashSet<LaneId>,
    lanes: Lanes,
    /// When arrivals, and cargo that came back, were last looked for in all lanes held then.
    arrived: Option<Timestamp>,
    returned: Option<Timestamp>,
    look_back_at: Timestamp,
    look_for_lanes_at: Timestamp,
    accounts: Arc<Accounts>,
    slots: AccountSlots,
}

impl Gather {
    pub(crate) fn new(
        shard: Arc<Shard>,
        lease: Lease,
        packing: Packing,
        providers: Arc<Providers>,
        (accounts, slots): (Arc<Accounts>, AccountSlots),
        gathered: Bell,
    ) -> Self {
        Self {
            shard,
            held_as: lease.claim(),
            lease,
            packing,
            providers,
            gathered,
            queues: HashMap::new(),
            paused: HashSet::new(),
            lanes: Lanes::default(),
            arrived: None,
            returned: None,
            look_back_at: Timestamp::UNIX_EPOCH,
            look_for_lanes_at: Timestamp::UNIX_EPOCH,
            accounts,
            slots,
        }
    }

    /// Takes up lanes that nobody gathers; lets go of all when we were taken for dead.
    async fn hold_lanes(&mut self, now: Timestamp) -> Result<(), store::Error> {
        let claim = self.lease.claim();
        if claim != self.held_as {
            self.queues.clear();
            self.held_as = claim;
        }
        if now < self.look_for_lanes_at {
            return Ok(());
        }
        let held = lane::claim_free(&self.shard, claim).await?;
        let paused = held.iter().filter(|lane| lane.is_paused);
        self.paused = paused.map(|lane| lane.id).collect();
        for lane in held {
            self.queues.entry(lane.id).or_default();
        }
        self.look_for_lanes_at = now + LOOK_FOR_LANES;
        Ok(())
    }

    /// Finds the organizations that wait. Under an old transaction every queue is full of dead
    /// rows, so looks start where something can have come, and whole looks are rare and bounded.
    async fn discover(&mut self, now: Timestamp) -> Result<(), store::Error> {
        for (lane, queue) in &mut self.queues {
            queue.look(&self.shard, *lane, now).await?;
        }
        let lanes: Vec<LaneId> = self.queues.keys().copied().collect();
        let is_far = now >= self.look_back_at;
        if is_far {
            self.look_back_at = now + LOOK_BACK_INTERVAL;
        }
        let back = now - if is_far { LOOK_BACK } else { OVERLAP };
        let after = id::floor(self.arrived.map_or(back, |at| back.min(at - OVERLAP)));
        let mut found = waiting::arrivals(&self.shard, &lanes, after).await?;
        if is_far || now >= self.returned.map_or(now, |at| at + RETURNED_INTERVAL) {
            let after = self.returned.map_or(back, |at| back.min(at - OVERLAP));
            found.extend(waiting::returned(&self.shard, &lanes, after, now).await?);
            self.returned = Some(now);
        }
        for (lane, waiting) in found {
            if let Some(queue) = self.queues.get_mut(&lane) {
                queue.enter(waiting);
            }
        }
        self.arrived = Some(now);
        Ok(())
    }

    /// The lanes of which something may be gathered: those that have enough batches waiting for
    /// their provider are left alone until it has taken some.
    async fn open_lanes(&mut self, now: Timestamp) -> Result<Vec<LaneId>, store::Error> {
        let waits = |(id, queue): (&LaneId, &Queue)| {
            let is_due = !queue.is_empty() && now >= queue.rest_until;
            (is_due && !self.paused.contains(id)).then_some(*id)
        };
        let waiting: Vec<LaneId> = self.queues.iter().filter_map(waits).collect();
        if waiting.is_empty() {
            return Ok(waiting);
        }
        let (mut limits, mut realtime) = (HashMap::new(), Vec::new());
        for id in &waiting {
            let lane = self.lanes.find(&self.shard, *id).await?;
            let most = self.providers.max_backlog(&lane, self.slots);
            // What an account does not take now, it takes later: one batch is ready then.
            let is_closed = self.accounts.allowance(&lane.provider, now) != Allowance::Any
                || self.accounts.is_full(&lane.provider, now);
            limits.insert(*id, if is_closed { 1 } else { most });
            if lane.via == Via::Realtime {
                realtime.push(*id);
            }
        }
        for (id, count) in batch::backlog(&self.shard, &waiting, &realtime).await? {
            if limits.get(&id).is_some_and(|most| count >= *most) {
                limits.remove(&id);
            }
        }
        Ok(waiting
            .into_iter()
            .filter(|id| limits.contains_key(id))
            .collect())
    }

    /// Gathers one batch of a lane, if anything waits there.
    async fn gather(&mut self, lane: LaneId, now: Timestamp) -> Result<usize, store::Error> {
        let Some(queue) = self.queues.get_mut(&lane) else {
            return Ok(0);
        };
        if queue.is_empty() || now < queue.rest_until {
            return Ok(0);
        }
        let way = self.lanes.find(&self.shard, lane).await?;
        let provider = way.provider.as_str();
        let packing = self.providers.packing(&way, self.packing);
        chaos::point("gather.began", provider);
        let mut tx = self.shard.begin().await?;
        lane::guard(&mut tx, lane, self.held_as).await?;
        let mut picked: Vec<(OrganizationId, CargoId)> = Vec::new();
        while picked.len() < packing.most_items && !queue.is_empty() {
            let turns = queue.turns(packing.most_items - picked.len());
            let found = waiting::pick(&mut tx, lane, &turns, now).await?;
            queue.took(&turns, &found);
            picked.extend(found);
        }
        let Some((_, first)) = picked.first() else {
            tx.rollback().await?;
            return Ok(0);
        };
        chaos::point("gather.picked", provider);
        let batch = BatchId::new(now, first.berth(), rand::rng().random());
        waiting::gather(&mut tx, lane, batch, &picked, now).await?;
        chaos::point("gather.written", provider);
        tx.commit().await?;
        chaos::point("gather.committed", provider);
        if picked.len() < packing.most_items {
            queue.rest_until = now + packing.linger;
        }
        let size = u32::try_from(picked.len()).unwrap_or(u32::MAX);
        metrics::histogram!("batch_size").record(f64::from(size));
        tracing::debug!(batch.id = %batch, shard = %self.shard.name, provider, size, "gathered {batch}");
        Ok(picked.len())
    }
}

#[async_trait::async_trait]
impl Stage for Gather {
    fn name(&self) -> &'static str {
        "gather"
    }

    async fn step(&mut self, now: Timestamp) -> Result<Step, store::Error> {
        self.hold_lanes(now).await?;
        if self.queues.is_empty() {
            return Ok(Step::Idle);
        }
        self.discover(now).await?;
        let lanes = self.open_lanes(now).await?;
        let mut gathered = 0;
        for lane in lanes {
            match self.gather(lane, now).await {
                Ok(count) => gathered += count,
                // What was remembered may not hold: look at everyone anew.
                Err(failure) => {
                    if let Some(queue) = self.queues.get_mut(&lane) {
                        *queue = Queue::default();
                    }
                    if matches!(failure, store::Error::Moved) {
                        self.queues.remove(&lane);
                    }
                    return Err(failure);
                }
            }
        }
        if gathered == 0 {
            return Ok(Step::Idle);
        }
        self.gathered.ring();
        Ok(Step::Did(gathered))
    }
}
