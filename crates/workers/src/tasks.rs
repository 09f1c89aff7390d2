//! The batches that a stage works on: each in a task of its own, with slots for each account.
//!
//! A call that hangs takes a slot of its account, and nothing from any other.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use domain::breaker::Allowance;
use domain::id::BatchId;
use domain::lane::LaneId;
use domain::time::Timestamp;
use store::Shard;
use store::shard::batch::{self, Queue, Turn};
use store::shard::node::Claim;
use tokio::task::{Id, JoinError, JoinSet};

use crate::accounts::Accounts;
use crate::lanes::Lanes;
use crate::stage::Bell;

/// A batch whose processing failed may be claimed again after this.
const RETRY_DELAY: TimeDelta = TimeDelta::seconds(1);

type Done = Result<usize, store::Error>;

#[derive(Debug)]
pub(crate) struct BatchTasks {
    shard: Arc<Shard>,
    accounts: Arc<Accounts>,
    stage: &'static str,
    queue: Queue,
    slots_per_account: usize,
    /// Rung when a task ends: its slot is free.
    ended: Bell,
    tasks: JoinSet<Done>,
    under_way: HashMap<Id, UnderWay>,
    /// Whether a claim may be left that no task stands for.
    has_unknown_claims: bool,
}

/// What a task works on.
#[derive(Debug)]
pub(crate) struct UnderWay {
    pub(crate) batch: BatchId,
    pub(crate) account: String,
    pub(crate) claim: Claim,
}

impl BatchTasks {
    pub(crate) fn new(
        accounts: Arc<Accounts>,
        shard: Arc<Shard>,
        (stage, queue): (&'static str, Queue),
        slots_per_account: usize,
        ended: Bell,
    ) -> Self {
        Self {
            shard,
            accounts,
            stage,
            queue,
            slots_per_account,
            ended,
            tasks: JoinSet::new(),
            under_way: HashMap::new(),
            has_unknown_claims: false,
        }
    }

    /// What may be claimed now: of each account that has batches due, as many as it has free
    /// slots. Accounts that do not answer are passed over.
    pub(crate) async fn turns(
        &self,
        lanes: &mut Lanes,
        now: Timestamp,
    ) -> Result<Vec<Turn>, store::Error> {
        let mut accounts: BTreeMap<String, Vec<LaneId>> = BTreeMap::new();
        for lane in batch::due_lanes(&self.shard, self.queue, now).await? {
            let name = lanes.find(&self.shard, lane).await?.provider.clone();
            accounts.entry(name).or_default().push(lane);
        }
        let turns = accounts.into_iter().map(|(name, lanes)| Turn {
            lanes,
            most: self.free_slots(&name, now),
            only_sent: self.accounts.is_full(&name, now),
        });
        Ok(turns.filter(|turn| turn.most > 0).collect())
    }

    fn free_slots(&self, account: &str, now: Timestamp) -> usize {
        let taken = self.under_way.values().filter(|it| it.account == account);
        let free = self.slots_per_account.saturating_sub(taken.count());
        match self.accounts.allowance(account, now) {
            Allowance::Any => free,
            Allowance::Probe => free.min(1),
            Allowance::Nothing => 0,
        }
    }

    pub(crate) fn spawn(
        &mut self,
        under_way: UnderWay,
        work: impl Future<Output = Done> + Send + 'static,
    ) {
        let ended = self.ended.clone();
        let task = self.tasks.spawn(async move {
            // Also when it panics.
            let _ring = ended.ring_on_drop();
            work.await
        });
        self.under_way.insert(task.id(), under_way);
    }

    /// Takes note of the tasks that have ended; returns what they did. A batch that failed is
    /// given back: the others go on.
    pub(crate) async fn reap(&mut self) -> usize {
        let mut did = 0;
        while let Some(ended) = self.tasks.try_join_next_with_id() {
            did += self.end(ended).await.unwrap_or_default();
        }
        did
    }

    /// Waits for all tasks; returns what they did, or the first failure.
    pub(crate) async fn finish(&mut self) -> Done {
        let (mut did, mut failure) = (0, None);
        while let Some(ended) = self.tasks.join_next_with_id().await {
            match self.end(ended).await {
                Ok(count) => did += count,
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(did), Err)
    }

    /// As [`BatchTasks::finish`], for so long at most; what is under way then is dropped, as if
    /// the process had been killed.
    pub(crate) async fn drain(&mut self, within: Duration) {
        if tokio::time::timeout(within, self.finish()).await.is_err() {
            let count = self.tasks.len();
            tracing::warn!(shard = %self.shard.name, stage = self.stage, count, "batches are still under way: they will be repeated");
            self.tasks.shutdown().await;
        }
    }

    /// Frees claims that no task stands for, if there may be any.
    pub(crate) async fn recover(&mut self, claim: Claim) -> Result<(), store::Error> {
        let known: Vec<BatchId> = self.under_way.values().map(|it| it.batch).collect();
        batch::free_unknown(&self.shard, claim, self.queue, &known).await?;
        self.has_unknown_claims = false;
        Ok(())
    }

    pub(crate) const fn has_unknown_claims(&self) -> bool {
        self.has_unknown_claims
    }

    async fn end(&mut self, ended: Result<(Id, Done), JoinError>) -> Done {
        let (id, done) = match ended {
            Ok((id, done)) => (id, Some(done)),
            Err(error) => (error.id(), None),
        };
        let Some(under_way) = self.under_way.remove(&id) else {
            return Ok(0);
        };
        let batch = under_way.batch;
        let failure = match done {
            Some(Ok(did)) => return Ok(did),
            Some(Err(failure @ store::Error::Moved)) => {
                tracing::info!(stage = self.stage, shard = %self.shard.name, batch.id = %batch, "the claim on {batch} was lost: another worker processes it");
                Some(failure)
            }
            Some(Err(failure)) => {
                let cause = std::error::Error::source(&failure).map(ToString::to_string);
                tracing::warn!(stage = self.stage, shard = %self.shard.name, batch.id = %batch, %failure, cause, "{batch} failed and will be repeated");
                Some(failure)
            }
            None => {
                tracing::error!(stage = self.stage, shard = %self.shard.name, batch.id = %batch, "the task of {batch} panicked");
                None
            }
        };
        if !matches!(failure, Some(store::Error::Moved)) {
            metrics::counter!("stage_failures_total", "stage" => self.stage, "shard" => self.shard.name.to_string()).increment(1);
        }
        self.give_back(&under_way, failure.is_none()).await;
        Err(failure.unwrap_or(store::Error::Moved))
    }

    async fn give_back(&mut self, under_way: &UnderWay, panicked: bool) {
        let again_at = self.shard.clock.now() + RETRY_DELAY;
        let (batch, claim) = (under_way.batch, under_way.claim);
        let freed = batch::give_back(&self.shard, batch, claim, again_at, panicked).await;
        // Moved: it was not ours any more, or it had been given back already.
        if !matches!(freed, Ok(()) | Err(store::Error::Moved)) {
            self.has_unknown_claims = true;
        }
    }
}
