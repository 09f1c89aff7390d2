//! The claim loop of dispatch, collect and stream. Each of them claims batches, as many as the
//! provider accounts have free slots, and processes each batch in its own task.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::route::InferenceMode;
use domain::time::Timestamp;
use futures::future::BoxFuture;
use store::Shard;
use store::shard::batch::{self, BatchQueue};

use crate::account_states::{AccountSlots, account_key};
use crate::claimed_batch::{BatchDeps, ClaimedBatch};
use crate::lane_cache::LaneCache;
use crate::lease::Lease;
use crate::stage::{Stage, StepResult, Wakeup};

mod batch_tasks;

use batch_tasks::{BatchTask, BatchTasks};

/// What the task of a batch does; it returns how many items it processed.
pub(crate) type BatchWork = BoxFuture<'static, Result<usize, store::Error>>;

/// What one stage does with the batches that it has claimed.
#[async_trait]
pub(crate) trait BatchWorker: fmt::Debug + Send + Sync {
    fn kind(&self) -> BatchStageKind;

    /// Reads what all batches of a claim need.
    async fn prepare(&mut self, _: &Shard) -> Result<(), store::Error> {
        Ok(())
    }

    /// Returns the work on a batch. Batches start one after the other, so this may read rows, but
    /// calls no other machine.
    async fn start(&mut self, claimed: ClaimedBatch) -> BatchWork;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BatchStageKind {
    Dispatch,
    Collect,
    Stream,
}

impl BatchStageKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Dispatch => "dispatch",
            Self::Collect => "collect",
            Self::Stream => "stream",
        }
    }

    const fn queue(self) -> BatchQueue {
        match self {
            Self::Dispatch => BatchQueue::Gathered,
            Self::Collect => BatchQueue::Running(&[InferenceMode::Batch]),
            Self::Stream => BatchQueue::Running(&[InferenceMode::Flex, InferenceMode::Realtime]),
        }
    }

    const fn slots(self, slots: AccountSlots) -> usize {
        match self {
            Self::Dispatch => slots.submissions,
            Self::Collect => slots.polls,
            Self::Stream => slots.streams,
        }
    }
}

/// What a batch stage needs besides its worker.
#[derive(Debug)]
pub(crate) struct BatchStageParams {
    pub(crate) deps: Arc<BatchDeps>,
    pub(crate) lease: Lease,
    pub(crate) account_slots: AccountSlots,
    /// Wakes the stage when a task ends and its slot is free.
    pub(crate) wakeup: Wakeup,
    pub(crate) drain_timeout: Duration,
}

/// Dispatch, collect or stream.
#[derive(Debug)]
pub struct BatchStage {
    kind: BatchStageKind,
    deps: Arc<BatchDeps>,
    lease: Lease,
    lanes: LaneCache,
    worker: Box<dyn BatchWorker>,
    tasks: BatchTasks,
    drain_timeout: Duration,
}

impl BatchStage {
    pub(crate) fn new(worker: impl BatchWorker + 'static, params: BatchStageParams) -> Self {
        let kind = worker.kind();
        let slots = kind.slots(params.account_slots);
        Self {
            kind,
            tasks: BatchTasks::new(params.deps.clone(), kind, slots, params.wakeup),
            deps: params.deps,
            lease: params.lease,
            lanes: LaneCache::default(),
            worker: Box::new(worker),
            drain_timeout: params.drain_timeout,
        }
    }

    /// Claims as many batches as there are free slots. Each batch becomes a task.
    async fn claim_batches(&mut self, now: Timestamp) -> Result<usize, store::Error> {
        let (claim, lease_lost) = self.lease.claim_and_token();
        self.tasks.check_claims(claim, now).await?;
        let quotas = self.tasks.plan_claim_quotas(&mut self.lanes, now).await?;
        if quotas.is_empty() {
            return Ok(0);
        }
        let (deps, shard) = (&self.deps, &self.deps.shard);
        let batches = match self.kind.queue() {
            BatchQueue::Gathered => batch::claim_gathered(shard, claim, &quotas, now).await?,
            BatchQueue::Running(_) => batch::claim_running(shard, claim, &quotas, now).await?,
        };
        let begun = batches.len();
        self.worker.prepare(shard).await?;
        for batch in batches {
            let lane = self.lanes.find(shard, batch.lane).await?;
            let claimed = ClaimedBatch {
                deps: deps.clone(),
                batch,
                model: deps.catalogue.borrow().find(&lane.model).cloned(),
                claim,
                claimed_at: now,
                lease: self.lease.clone(),
                lease_lost: lease_lost.clone(),
                probe: deps.accounts.begin_probe(&account_key(&lane)),
                lane,
            };
            let task = BatchTask::of(&claimed);
            let work = self.worker.start(claimed).await;
            self.tasks.spawn(task, work);
        }
        Ok(begun)
    }
}

#[async_trait]
impl Stage for BatchStage {
    fn name(&self) -> &'static str {
        self.kind.name()
    }

    async fn step(&mut self, now: Timestamp) -> Result<StepResult, store::Error> {
        let mut did = 0;
        loop {
            let begun = self.claim_batches(now).await?;
            did += self.tasks.join_all().await?;
            if begun == 0 {
                return Ok(StepResult::from_count(did));
            }
        }
    }

    async fn advance(&mut self, now: Timestamp) -> Result<StepResult, store::Error> {
        let ended = self.tasks.reap().await;
        let begun = self.claim_batches(now).await?;
        // Dispatch counts batches, and looks for the next ones at once. The others count outcomes.
        Ok(StepResult::from_count(match self.kind {
            BatchStageKind::Dispatch => begun,
            BatchStageKind::Collect | BatchStageKind::Stream => ended,
        }))
    }

    async fn drain(&mut self) {
        // The next worker repeats the realtime requests that are in flight.
        if self.kind != BatchStageKind::Stream {
            self.tasks.drain(self.drain_timeout).await;
        }
    }

    async fn recover(&mut self) -> Result<(), store::Error> {
        self.tasks.recover(self.lease.claim()).await
    }
}
