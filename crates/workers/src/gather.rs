//! Gather: puts PENDING cargo of one lane into a batch, with a fair share for each organization.
//!
//! One node at a time gathers a lane, so that it can remember a position for each organization.
//! The positions are hints: a full discovery now and then finds what they miss, such as a late
//! commit.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use chrono::TimeDelta;
use domain::circuit_breaker::Allowance;
use domain::id::{self, BatchId, CargoId};
use domain::lane::LaneId;
use domain::route::InferenceMode;
use domain::route_choice::URGENT_WINDOW;
use domain::time::Timestamp;
use rand::RngExt as _;
use store::Shard;
use store::shard::batch;
use store::shard::lane;
use store::shard::node::Claim;
use store::shard::waiting;
use store::shard::waiting_deadlines;

use crate::account_states::{AccountSlots, AccountStates, account_key};
use crate::claimed_batch::BatchDeps;
use crate::failpoint;
use crate::gather::lane_queue::LaneQueue;
use crate::lane_cache::LaneCache;
use crate::lease::Lease;
use crate::packing_limits::PackingLimits;
use crate::providers::Providers;
use crate::stage::{Stage, StepResult, Wakeup};

mod lane_discovery;
mod lane_queue;

/// Commits come out of order: each discovery reads this much of the time before it again.
const COMMIT_OVERLAP: TimeDelta = TimeDelta::seconds(2);
/// How often a discovery reads further back, and how far: a commit may take this long.
const LOOKBACK_INTERVAL: TimeDelta = TimeDelta::seconds(30);
const LOOKBACK: TimeDelta = TimeDelta::seconds(90);
/// How often requeued cargo is read.
const RETURNED_READ_INTERVAL: TimeDelta = TimeDelta::seconds(1);
/// How often lanes that no node gathers are claimed.
const LANE_CLAIM_INTERVAL: TimeDelta = TimeDelta::milliseconds(200);

#[derive(Debug)]
pub struct GatherStage {
    shard: Arc<Shard>,
    lease: Lease,
    packing: PackingLimits,
    providers: Arc<Providers>,
    wakeup: Wakeup,
    lanes_claim: Claim,
    queues: HashMap<LaneId, LaneQueue>,
    /// Lanes that an operator paused. Their cargo is not gathered.
    paused: HashSet<LaneId>,
    lanes: LaneCache,
    /// When arrivals and requeued cargo were last read, in all lanes held then.
    arrivals_read_at: Option<Timestamp>,
    returned_read_at: Option<Timestamp>,
    lookback_at: Timestamp,
    claim_lanes_at: Timestamp,
    accounts: Arc<AccountStates>,
    slots: AccountSlots,
}

impl GatherStage {
    pub(crate) fn new(
        deps: &BatchDeps,
        lease: Lease,
        packing: PackingLimits,
        slots: AccountSlots,
        gathered: Wakeup,
    ) -> Self {
        Self {
            shard: deps.shard.clone(),
            lanes_claim: lease.claim(),
            lease,
            packing,
            providers: deps.providers.clone(),
            wakeup: gathered,
            queues: HashMap::new(),
            paused: HashSet::new(),
            lanes: LaneCache::default(),
            arrivals_read_at: None,
            returned_read_at: None,
            lookback_at: Timestamp::UNIX_EPOCH,
            claim_lanes_at: Timestamp::UNIX_EPOCH,
            accounts: deps.accounts.clone(),
            slots,
        }
    }

    /// Claims lanes that no node gathers. Drops all lanes when this node has a new epoch.
    async fn claim_lanes(&mut self, now: Timestamp) -> Result<(), store::Error> {
        let claim = self.lease.claim();
        if claim != self.lanes_claim {
            self.queues.clear();
            self.lanes_claim = claim;
        }
        if now < self.claim_lanes_at {
            return Ok(());
        }
        let held = lane::claim_free(&self.shard, claim).await?;
        let paused = held.iter().filter(|lane| lane.is_paused);
        self.paused = paused.map(|lane| lane.id).collect();
        for lane in held {
            self.queues.entry(lane.id).or_default();
        }
        self.claim_lanes_at = now + LANE_CLAIM_INTERVAL;
        Ok(())
    }

    /// Finds the organizations with waiting cargo. While an old transaction is open every queue is
    /// full of dead rows, so discovery reads only recent ids, and full reads are rare and bounded.
    async fn discover(&mut self, now: Timestamp) -> Result<(), store::Error> {
        for (lane, queue) in &mut self.queues {
            queue.discover(&self.shard, *lane, now).await?;
        }
        let lanes: Vec<LaneId> = self.queues.keys().copied().collect();
        let is_far = now >= self.lookback_at;
        if is_far {
            self.lookback_at = now + LOOKBACK_INTERVAL;
        }
        let back = now - if is_far { LOOKBACK } else { COMMIT_OVERLAP };
        let after = id::first_id_at(
            self.arrivals_read_at
                .map_or(back, |at| back.min(at - COMMIT_OVERLAP)),
        );
        let mut found = waiting::list_arrivals(&self.shard, &lanes, after).await?;
        if is_far
            || now
                >= self
                    .returned_read_at
                    .map_or(now, |at| at + RETURNED_READ_INTERVAL)
        {
            let after = self
                .returned_read_at
                .map_or(back, |at| back.min(at - COMMIT_OVERLAP));
            found.extend(waiting::list_returned(&self.shard, &lanes, after, now).await?);
            self.returned_read_at = Some(now);
        }
        for (lane, waiting) in found {
            if let Some(queue) = self.queues.get_mut(&lane) {
                queue.add(waiting);
            }
        }
        self.arrivals_read_at = Some(now);
        Ok(())
    }

    /// The lanes to gather now. A lane with enough batches waiting for its provider is left out
    /// until the provider has taken some.
    async fn find_open_lanes(&mut self, now: Timestamp) -> Result<Vec<LaneId>, store::Error> {
        let waits = |(id, queue): (&LaneId, &LaneQueue)| {
            let is_due = !queue.is_empty() && now >= queue.linger_until;
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
            let key = account_key(&lane);
            let allowance = self.accounts.allowance(&key, now);
            // Cargo that waits for spare capacity stays in the queue: it may take another way.
            if lane.via == InferenceMode::Flex && allowance == Allowance::Nothing {
                continue;
            }
            // An account that takes nothing now gets one batch, ready for later.
            let is_closed = allowance != Allowance::Any || self.accounts.is_full(&key, now);
            limits.insert(*id, if is_closed { 1 } else { most });
            if lane.via.is_single_request() {
                realtime.push(*id);
            }
        }
        for (id, count) in batch::count_backlog(&self.shard, &waiting, &realtime).await? {
            if limits.get(&id).is_some_and(|most| count >= *most) {
                limits.remove(&id);
            }
        }
        Ok(waiting
            .into_iter()
            .filter(|id| limits.contains_key(id))
            .collect())
    }

    /// Gathers one batch of a lane, if cargo is waiting there.
    async fn gather_batch(&mut self, lane: LaneId, now: Timestamp) -> Result<usize, store::Error> {
        let Some(queue) = self.queues.get_mut(&lane) else {
            return Ok(0);
        };
        if queue.is_empty() || now < queue.linger_until {
            return Ok(0);
        }
        let details = self.lanes.find(&self.shard, lane).await?;
        let provider = details.provider.as_str();
        let packing = self.providers.packing(&details, self.packing);
        failpoint::point("gather.began", provider);
        let mut tx = self.shard.begin().await?;
        lane::lock_claimed(&mut tx, lane, self.lanes_claim).await?;
        let mut picked = if details.via.is_single_request() {
            // Half of a batch at most: organizations without deadlines get the rest.
            let most = packing.max_items.div_ceil(2);
            waiting_deadlines::pick_urgent(&mut tx, lane, now + URGENT_WINDOW, most, now).await?
        } else {
            Vec::new()
        };
        let urgent: HashSet<CargoId> = picked.iter().map(|(_, cargo)| *cargo).collect();
        while picked.len() < packing.max_items && !queue.is_empty() {
            let quotas = queue.next_quotas(packing.max_items - picked.len());
            let found = waiting::pick(&mut tx, lane, &quotas, now).await?;
            queue.record_taken(&quotas, &found);
            picked.extend(
                found
                    .into_iter()
                    .filter(|(_, cargo)| !urgent.contains(cargo)),
            );
        }
        let Some((_, first)) = picked.first() else {
            tx.rollback().await?;
            return Ok(0);
        };
        failpoint::point("gather.picked", provider);
        let batch = BatchId::new(now, first.berth(), rand::rng().random());
        let gathered = waiting::gather(&mut tx, lane, batch, &picked, now).await?;
        if gathered == 0 {
            // All picked cargo was cancelled meanwhile.
            tx.rollback().await?;
            return Ok(0);
        }
        failpoint::point("gather.written", provider);
        tx.commit().await?;
        failpoint::point("gather.committed", provider);
        if picked.len() < packing.max_items {
            queue.linger_until = now + packing.linger;
        }
        let size = u32::try_from(gathered).unwrap_or(u32::MAX);
        metrics::histogram!("longshore_batch_cargo").record(f64::from(size));
        tracing::debug!(batch.id = %batch, shard = %self.shard.name, provider, size, "gathered a batch");
        Ok(gathered)
    }
}

#[async_trait::async_trait]
impl Stage for GatherStage {
    fn name(&self) -> &'static str {
        "gather"
    }

    async fn step(&mut self, now: Timestamp) -> Result<StepResult, store::Error> {
        self.claim_lanes(now).await?;
        if self.queues.is_empty() {
            return Ok(StepResult::Idle);
        }
        self.discover(now).await?;
        let lanes = self.find_open_lanes(now).await?;
        let mut gathered = 0;
        for lane in lanes {
            match self.gather_batch(lane, now).await {
                Ok(count) => gathered += count,
                // The remembered positions may be wrong: start with a full discovery.
                Err(failure) => {
                    if let Some(queue) = self.queues.get_mut(&lane) {
                        *queue = LaneQueue::default();
                    }
                    if matches!(failure, store::Error::Fenced) {
                        self.queues.remove(&lane);
                    }
                    return Err(failure);
                }
            }
        }
        if gathered == 0 {
            return Ok(StepResult::Idle);
        }
        self.wakeup.wake();
        Ok(StepResult::Processed(gathered))
    }
}
