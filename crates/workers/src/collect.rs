//! Collect: polls the jobs of submitted batches and stores their results as outcomes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use domain::model::Catalogue;
use domain::reason_code::FailureCode;
use domain::time::Timestamp;
use outbound::provider::ProviderJobId;
use store::Shard;
use store::shard::batch;
use store::shard::manifest;
use tokio::sync::watch;

use crate::account_states::AccountStates;
use crate::batch_tasks::BatchTasks;
use crate::byte_budget::ByteBudget;
use crate::callback_slots::CallbackSlots;
use crate::claimed_batch::ClaimedBatch;
use crate::failpoint;
use crate::lane_cache::LaneCache;
use crate::lease::Lease;
use crate::outcome_writer::{self, FinishedCargo};
use crate::providers::{ProviderAccess, Providers};
use crate::requeue::{self, RequeueTiming};
use crate::stage::{Stage, StepResult};

mod job_polling;
mod mock;
mod result_ingestion;
mod result_lines;

#[derive(Debug)]
pub struct CollectStage {
    pub(crate) lease: Lease,
    pub(crate) lanes: LaneCache,
    pub(crate) collector: Arc<Collector>,
    pub(crate) tasks: BatchTasks,
    pub(crate) drain: Duration,
}

/// What the tasks of collect share.
#[derive(Debug)]
pub(crate) struct Collector {
    pub(crate) shard: Arc<Shard>,
    pub(crate) accounts: Arc<AccountStates>,
    pub(crate) catalogue: watch::Receiver<Arc<Catalogue>>,
    pub(crate) providers: Arc<Providers>,
    pub(crate) callback_slots: CallbackSlots,
    /// The directory for results while they are read.
    pub(crate) spool_dir: PathBuf,
    pub(crate) memory: ByteBudget,
}

impl Collector {
    async fn poll(&self, claimed: &ClaimedBatch) -> Result<usize, store::Error> {
        let access = self.providers.find(&claimed.lane.provider);
        match (&claimed.model, access, &claimed.batch.job) {
            (Some(model), Some(ProviderAccess::Mock(mock)), Some(_)) => {
                self.poll_mock(claimed, model, *mock).await
            }
            (
                Some(model),
                Some(ProviderAccess::Batch {
                    batch: jobs, share, ..
                }),
                Some(job),
            ) => {
                let source = job_polling::JobSource {
                    provider: &**jobs,
                    share: *share,
                    model,
                    job: &ProviderJobId(job.clone()),
                };
                self.poll_job(claimed, &source).await
            }
            // The provider or the job is not known here: the open cargo takes another route.
            _ => {
                self.end_batch(claimed, RequeueTiming::Immediately).await?;
                Ok(1)
            }
        }
    }

    /// Ends the batch and requeues cargo without an outcome.
    async fn end_batch(
        &self,
        claimed: &ClaimedBatch,
        timing: RequeueTiming,
    ) -> Result<(), store::Error> {
        let catalogue = self.catalogue.borrow().clone();
        let lane = (claimed.batch.lane, &*claimed.lane);
        let (providers, now) = (&self.providers, claimed.claimed_at);
        let onward =
            requeue::plan_requeue(&self.shard, &catalogue, lane, providers, timing, now).await?;
        failpoint::point("collect.ending", &claimed.lane.provider);
        let batch = claimed.batch.id;
        let returned = batch::end(
            &self.shard,
            batch,
            claimed.claim,
            onward,
            claimed.claimed_at,
        )
        .await?;
        failpoint::point("collect.ended", &claimed.lane.provider);
        self.accounts.clear_full(&claimed.lane.provider);
        if returned > 0 {
            tracing::warn!(batch.id = %batch, returned, "a batch ended with cargo without an outcome: it is requeued");
        }
        Ok(())
    }

    /// Fails the open cargo of a batch whose results have killed too many workers. The results are
    /// not read again.
    async fn fail_remaining(&self, claimed: &ClaimedBatch) -> Result<usize, store::Error> {
        let (batch, claim, now) = (&claimed.batch, claimed.claim, claimed.claimed_at);
        let heads = manifest::list_open(&self.shard, batch.id, &batch.cargo).await?;
        for head in &heads {
            let cargo = head.cargo;
            tracing::error!(batch.id = %batch.id, cargo.id = %cargo, takeovers = batch.takeovers, "a result is not processed again: workers died while processing it");
        }
        let count = heads.len();
        metrics::counter!("longshore_outcomes_unprocessable_total", "reason" => "takeovers")
            .increment(count as u64);
        let failure = FailureCode::ProcessingInterrupted
            .with_message("processing the result was interrupted too often");
        let failed = heads.into_iter();
        let failed = failed.map(|head| FinishedCargo::failed(head, failure.clone()));
        let slots = Some(&self.callback_slots);
        outcome_writer::store_outcomes(&self.shard, batch.id, claim, slots, failed.collect(), now)
            .await?;
        self.end_batch(claimed, RequeueTiming::Immediately).await?;
        Ok(count.max(1))
    }
}

impl CollectStage {
    /// Claims as many batches as there are free slots. Each batch becomes a task.
    async fn claim_batches(&mut self, now: Timestamp) -> Result<usize, store::Error> {
        let (lost, claim) = (self.lease.token(), self.lease.claim());
        if self.tasks.has_unknown_claims() {
            self.tasks.recover(claim).await?;
        }
        let turns = self.tasks.plan_claim_quotas(&mut self.lanes, now).await?;
        if turns.is_empty() {
            return Ok(0);
        }
        let collector = &self.collector;
        let batches = batch::claim_running(&collector.shard, claim, &turns, now).await?;
        let begun = batches.len();
        for batch in batches {
            let lane = self.lanes.find(&collector.shard, batch.lane).await?;
            failpoint::point("collect.claimed", &lane.provider);
            let model = collector.catalogue.borrow().find(&lane.model).cloned();
            let claimed = ClaimedBatch {
                _probe: collector.accounts.begin_probe(&lane.provider),
                batch,
                lane,
                model,
                claim,
                claimed_at: now,
                lease_lost: lost.clone(),
                accounts: collector.accounts.clone(),
            };
            let collector = collector.clone();
            self.tasks.spawn(claimed.batch_task(), async move {
                collector.poll(&claimed).await
            });
        }
        Ok(begun)
    }
}

#[async_trait::async_trait]
impl Stage for CollectStage {
    fn name(&self) -> &'static str {
        "collect"
    }

    async fn step(&mut self, now: Timestamp) -> Result<StepResult, store::Error> {
        let mut stored = 0;
        loop {
            let begun = self.claim_batches(now).await?;
            stored += self.tasks.join_all().await?;
            if begun == 0 {
                return Ok(StepResult::from_count(stored));
            }
        }
    }

    async fn advance(&mut self, now: Timestamp) -> Result<StepResult, store::Error> {
        let stored = self.tasks.reap().await;
        self.claim_batches(now).await?;
        Ok(StepResult::from_count(stored))
    }

    async fn drain(&mut self) {
        self.tasks.drain(self.drain).await;
    }

    async fn recover(&mut self) -> Result<(), store::Error> {
        self.tasks.recover(self.lease.claim()).await
    }
}
