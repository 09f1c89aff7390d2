//! The batches that a stage works on, each in its own task, with slots per account.
//!
//! A call that hangs takes a slot of its account. Other accounts keep theirs.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use domain::circuit_breaker::Allowance;
use domain::id::BatchId;
use domain::lane::LaneId;
use domain::time::Timestamp;
use store::Shard;
use store::shard::batch::{self, BatchClaimQuota, BatchQueue};
use store::shard::node::Claim;
use tokio::task::{Id, JoinError, JoinSet};

use crate::account_states::AccountStates;
use crate::lane_cache::LaneCache;
use crate::stage::Wakeup;

/// A batch whose processing failed may be claimed again after this.
const RETRY_DELAY: TimeDelta = TimeDelta::seconds(1);

type TaskResult = Result<usize, store::Error>;

#[derive(Debug)]
pub(crate) struct BatchTasks {
    shard: Arc<Shard>,
    accounts: Arc<AccountStates>,
    stage: &'static str,
    queue: BatchQueue,
    slots_per_account: usize,
    /// Wakes the stage when a task ends and its slot is free.
    wakeup: Wakeup,
    tasks: JoinSet<TaskResult>,
    running: HashMap<Id, BatchTask>,
    /// Whether the database may hold a claim that has no task.
    has_unknown_claims: bool,
}

/// What a task works on.
#[derive(Debug)]
pub(crate) struct BatchTask {
    pub(crate) batch: BatchId,
    pub(crate) account: String,
    pub(crate) claim: Claim,
}

impl BatchTasks {
    pub(crate) fn new(
        accounts: Arc<AccountStates>,
        shard: Arc<Shard>,
        (stage, queue): (&'static str, BatchQueue),
        slots_per_account: usize,
        ended: Wakeup,
    ) -> Self {
        Self {
            shard,
            accounts,
            stage,
            queue,
            slots_per_account,
            wakeup: ended,
            tasks: JoinSet::new(),
            running: HashMap::new(),
            has_unknown_claims: false,
        }
    }

    /// Plans the next claim: for each account with due batches, as many as it has free slots.
    /// Accounts whose circuit breaker is open get none.
    pub(crate) async fn plan_claim_quotas(
        &self,
        lanes: &mut LaneCache,
        now: Timestamp,
    ) -> Result<Vec<BatchClaimQuota>, store::Error> {
        let mut accounts: BTreeMap<String, Vec<LaneId>> = BTreeMap::new();
        for lane in batch::list_due_lanes(&self.shard, self.queue, now).await? {
            let name = lanes.find(&self.shard, lane).await?.provider.clone();
            accounts.entry(name).or_default().push(lane);
        }
        let turns = accounts.into_iter().map(|(name, lanes)| BatchClaimQuota {
            lanes,
            max: self.free_slots(&name, now),
            only_sent: self.accounts.is_full(&name, now),
        });
        Ok(turns.filter(|turn| turn.max > 0).collect())
    }

    fn free_slots(&self, account: &str, now: Timestamp) -> usize {
        let taken = self.running.values().filter(|it| it.account == account);
        let free = self.slots_per_account.saturating_sub(taken.count());
        match self.accounts.allowance(account, now) {
            Allowance::Any => free,
            Allowance::Probe => free.min(1),
            Allowance::Nothing => 0,
        }
    }

    pub(crate) fn spawn(
        &mut self,
        under_way: BatchTask,
        work: impl Future<Output = TaskResult> + Send + 'static,
    ) {
        let ended = self.wakeup.clone();
        let task = self.tasks.spawn(async move {
            // Also when it panics.
            let _ring = ended.wake_on_drop();
            work.await
        });
        self.running.insert(task.id(), under_way);
    }

    /// Handles the tasks that have ended; returns how much they did. A failed batch is released
    /// and the other tasks continue.
    pub(crate) async fn reap(&mut self) -> usize {
        let mut did = 0;
        while let Some(ended) = self.tasks.try_join_next_with_id() {
            did += self.handle_end(ended).await.unwrap_or_default();
        }
        did
    }

    /// Waits for all tasks; returns how much they did, or the first failure.
    pub(crate) async fn join_all(&mut self) -> TaskResult {
        let (mut did, mut failure) = (0, None);
        while let Some(ended) = self.tasks.join_next_with_id().await {
            match self.handle_end(ended).await {
                Ok(count) => did += count,
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(did), Err)
    }

    /// As [`BatchTasks::join_all`], for at most `within`. Tasks that still run are aborted, as if the
    /// process had been killed.
    pub(crate) async fn drain(&mut self, within: Duration) {
        if tokio::time::timeout(within, self.join_all()).await.is_err() {
            let count = self.tasks.len();
            tracing::warn!(shard = %self.shard.name, stage = self.stage, count, "batches were still running at shutdown: another worker repeats them");
            self.tasks.shutdown().await;
        }
    }

    /// Frees claims of this node that have no task.
    pub(crate) async fn recover(&mut self, claim: Claim) -> Result<(), store::Error> {
        let known: Vec<BatchId> = self.running.values().map(|it| it.batch).collect();
        batch::free_unknown_claims(&self.shard, claim, self.queue, &known).await?;
        self.has_unknown_claims = false;
        Ok(())
    }

    pub(crate) const fn has_unknown_claims(&self) -> bool {
        self.has_unknown_claims
    }

    async fn handle_end(&mut self, ended: Result<(Id, TaskResult), JoinError>) -> TaskResult {
        let (id, done) = match ended {
            Ok((id, done)) => (id, Some(done)),
            Err(error) => (error.id(), None),
        };
        let Some(under_way) = self.running.remove(&id) else {
            return Ok(0);
        };
        let batch = under_way.batch;
        let failure = match done {
            Some(Ok(did)) => return Ok(did),
            Some(Err(failure @ store::Error::Fenced)) => {
                tracing::info!(stage = self.stage, shard = %self.shard.name, batch.id = %batch, "a batch's claim was lost: another worker continues");
                Some(failure)
            }
            Some(Err(failure)) => {
                let cause = std::error::Error::source(&failure).map(ToString::to_string);
                tracing::warn!(stage = self.stage, shard = %self.shard.name, batch.id = %batch, %failure, cause, "a batch failed and will be retried");
                Some(failure)
            }
            None => {
                tracing::error!(stage = self.stage, shard = %self.shard.name, batch.id = %batch, "the task of a batch panicked");
                None
            }
        };
        if !matches!(failure, Some(store::Error::Fenced)) {
            metrics::counter!("longshore_stage_failures_total", "stage" => self.stage, "shard" => self.shard.name.to_string()).increment(1);
        }
        self.release(&under_way, failure.is_none()).await;
        Err(failure.unwrap_or(store::Error::Fenced))
    }

    async fn release(&mut self, under_way: &BatchTask, panicked: bool) {
        let again_at = self.shard.clock.now() + RETRY_DELAY;
        let (batch, claim) = (under_way.batch, under_way.claim);
        let freed = batch::release(&self.shard, batch, claim, again_at, panicked).await;
        // Fenced: another worker has it, or it was released before.
        if !matches!(freed, Ok(()) | Err(store::Error::Fenced)) {
            self.has_unknown_claims = true;
        }
    }
}
