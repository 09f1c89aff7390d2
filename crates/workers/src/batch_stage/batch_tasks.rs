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
use domain::route::InferenceMode;
use domain::time::Timestamp;
use store::shard::batch::{self, BatchClaimQuota};
use store::shard::node::Claim;
use tokio::task::{Id, JoinError, JoinSet};

use super::{BatchStageKind, BatchWork};
use crate::account_states::account_key;
use crate::claim_checks::ClaimChecks;
use crate::claimed_batch::{BatchDeps, ClaimedBatch};
use crate::lane_cache::LaneCache;
use crate::stage::Wakeup;

/// A batch whose processing failed may be claimed again after this.
const RETRY_DELAY: TimeDelta = TimeDelta::seconds(1);

type TaskResult = Result<usize, store::Error>;

#[derive(Debug)]
pub(super) struct BatchTasks {
    deps: Arc<BatchDeps>,
    kind: BatchStageKind,
    slots_per_account: usize,
    wakeup: Wakeup,
    tasks: JoinSet<TaskResult>,
    running: HashMap<Id, BatchTask>,
    /// When claims without a task are searched for.
    claim_checks: ClaimChecks,
}

/// What a task works on.
#[derive(Debug)]
pub(super) struct BatchTask {
    batch: BatchId,
    account: String,
    claim: Claim,
}

impl BatchTask {
    pub(super) fn of(claimed: &ClaimedBatch) -> Self {
        Self {
            batch: claimed.batch.id,
            account: claimed.account_key(),
            claim: claimed.claim,
        }
    }
}

impl BatchTasks {
    pub(super) fn new(
        deps: Arc<BatchDeps>,
        kind: BatchStageKind,
        slots_per_account: usize,
        wakeup: Wakeup,
    ) -> Self {
        Self {
            deps,
            kind,
            slots_per_account,
            wakeup,
            tasks: JoinSet::new(),
            running: HashMap::new(),
            claim_checks: ClaimChecks::default(),
        }
    }

    /// Plans the next claim: for each account with due batches, as many as it has free slots.
    /// Accounts whose circuit breaker is open get none.
    pub(super) async fn plan_claim_quotas(
        &self,
        lanes: &mut LaneCache,
        now: Timestamp,
    ) -> Result<Vec<BatchClaimQuota>, store::Error> {
        let mut accounts: BTreeMap<String, (InferenceMode, Vec<LaneId>)> = BTreeMap::new();
        let shard = &self.deps.shard;
        for lane in batch::list_due_lanes(shard, self.kind.queue(), now).await? {
            let details = lanes.find(shard, lane).await?;
            let key = account_key(&details);
            let (_, due) = accounts.entry(key).or_insert((details.via, Vec::new()));
            due.push(lane);
        }
        let quotas = accounts
            .into_iter()
            .map(|(name, (via, lanes))| BatchClaimQuota {
                lanes,
                max: self.free_slots(&name, via, now),
                only_sent: self.deps.accounts.is_full(&name, now),
            });
        Ok(quotas.filter(|quota| quota.max > 0).collect())
    }

    fn free_slots(&self, account: &str, via: InferenceMode, now: Timestamp) -> usize {
        let taken = self.running.values().filter(|it| it.account == account);
        let free = self.slots_per_account.saturating_sub(taken.count());
        match self.deps.accounts.allowance(account, now) {
            Allowance::Any => free,
            Allowance::Probe => free.min(1),
            // Stream gives their cargo back at once, so that it can take another way.
            Allowance::Nothing if via == InferenceMode::Flex => free,
            Allowance::Nothing => 0,
        }
    }

    pub(super) fn spawn(&mut self, under_way: BatchTask, work: BatchWork) {
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
    pub(super) async fn reap(&mut self) -> usize {
        let mut did = 0;
        while let Some(ended) = self.tasks.try_join_next_with_id() {
            did += self.handle_end(ended).await.unwrap_or_default();
        }
        did
    }

    /// Waits for all tasks; returns how much they did, or the first failure.
    pub(super) async fn join_all(&mut self) -> TaskResult {
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
    pub(super) async fn drain(&mut self, within: Duration) {
        if tokio::time::timeout(within, self.join_all()).await.is_err() {
            let count = self.tasks.len();
            tracing::warn!(shard = %self.deps.shard.name, stage = self.kind.name(), count, "batches were still running at shutdown: another worker repeats them");
            self.tasks.shutdown().await;
        }
    }

    /// A statement has failed: frees claims of this node that have no task, now and some times
    /// later.
    pub(super) async fn recover(&mut self, claim: Claim) -> Result<(), store::Error> {
        self.claim_checks.doubt(self.deps.shard.clock.now());
        // A task that has ended knows nothing of a later claim on its batch.
        self.reap().await;
        self.free_unknown_claims(claim).await
    }

    /// Frees claims of this node that have no task, if the check is due.
    pub(super) async fn check_claims(
        &mut self,
        claim: Claim,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        if self.claim_checks.is_due(now) {
            self.free_unknown_claims(claim).await?;
        }
        Ok(())
    }

    async fn free_unknown_claims(&self, claim: Claim) -> Result<(), store::Error> {
        let known: Vec<BatchId> = self.running.values().map(|it| it.batch).collect();
        let (shard, queue) = (&self.deps.shard, self.kind.queue());
        let count = batch::free_unknown_claims(shard, claim, queue, &known).await?;
        if count > 0 {
            tracing::warn!(stage = self.kind.name(), shard = %shard.name, count, "batch claims that this worker did not know of were freed: the database's answer was lost");
        }
        Ok(())
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
                tracing::info!(stage = self.kind.name(), shard = %self.deps.shard.name, batch.id = %batch, "a batch's claim was lost: another worker continues");
                Some(failure)
            }
            Some(Err(failure)) => {
                tracing::warn!(stage = self.kind.name(), shard = %self.deps.shard.name, batch.id = %batch, failure = failure.diagnosis(), "a batch failed and will be retried");
                Some(failure)
            }
            None => {
                tracing::error!(stage = self.kind.name(), shard = %self.deps.shard.name, batch.id = %batch, "the task of a batch panicked");
                None
            }
        };
        if matches!(failure, Some(store::Error::KeyUnavailable(_))) {
            metrics::counter!("longshore_data_key_unavailable_total", "operation" => "batch")
                .increment(1);
        }
        if !matches!(failure, Some(store::Error::Fenced)) {
            metrics::counter!("longshore_stage_failures_total", "stage" => self.kind.name(), "shard" => self.deps.shard.name.to_string()).increment(1);
        }
        self.release(&under_way, failure.is_none()).await;
        Err(failure.unwrap_or(store::Error::Fenced))
    }

    async fn release(&mut self, under_way: &BatchTask, panicked: bool) {
        let again_at = self.deps.shard.clock.now() + RETRY_DELAY;
        let (batch, claim) = (under_way.batch, under_way.claim);
        let freed = batch::release(&self.deps.shard, batch, claim, again_at, panicked).await;
        // Fenced: another worker has it, or it was released before.
        if !matches!(freed, Ok(()) | Err(store::Error::Fenced)) {
            self.claim_checks.doubt_at_once(self.deps.shard.clock.now());
        }
    }
}
