//! Collect: a provider's word becomes outcomes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use domain::model::Catalogue;
use domain::time::Timestamp;
use outbound::provider::Job;
use store::Shard;
use store::shard::batch;
use store::shard::manifest;
use tokio::sync::watch;

use crate::accounts::Accounts;
use crate::callback_slots::CallbackSlots;
use crate::chaos;
use crate::claimed::ClaimedBatch;
use crate::lanes::Lanes;
use crate::lease::Lease;
use crate::memory::ByteBudget;
use crate::onward::{self, Going};
use crate::providers::{Access, Providers};
use crate::stage::{Stage, Step};
use crate::storing::{self, Finished};
use crate::tasks::BatchTasks;

mod ingest;
mod job;
mod lines;
mod mock;

/// A provider that did not answer is asked again after this.
const LATER: TimeDelta = TimeDelta::seconds(5);

#[derive(Debug)]
pub struct Collect {
    pub(crate) lease: Lease,
    pub(crate) lanes: Lanes,
    pub(crate) collector: Arc<Collector>,
    pub(crate) tasks: BatchTasks,
    pub(crate) drain: Duration,
}

/// What the tasks share.
#[derive(Debug)]
pub(crate) struct Collector {
    pub(crate) shard: Arc<Shard>,
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) catalogue: watch::Receiver<Arc<Catalogue>>,
    pub(crate) providers: Arc<Providers>,
    pub(crate) callback_slots: CallbackSlots,
    /// Where results lie while they are read.
    pub(crate) spools: PathBuf,
    pub(crate) memory: ByteBudget,
}

impl Collector {
    async fn poll(&self, claimed: &ClaimedBatch) -> Result<usize, store::Error> {
        let access = self.providers.find(&claimed.lane.provider);
        match (&claimed.model, access, &claimed.batch.job) {
            (Some(model), Some(Access::Mock(mock)), Some(job)) => {
                self.poll_mock(claimed, model, &**mock, job).await
            }
            (Some(model), Some(Access::Jobs { jobs, share, .. }), Some(job)) => {
                let source = job::Source {
                    jobs: &**jobs,
                    share: *share,
                    model,
                    job: &Job(job.clone()),
                };
                self.poll_job(claimed, &source).await
            }
            // Nobody can be asked any more: what is open takes another way.
            _ => {
                self.end(claimed, Going::AtOnce).await?;
                Ok(1)
            }
        }
    }

    /// Ends the batch; what has no outcome goes on.
    async fn end(&self, claimed: &ClaimedBatch, going: Going) -> Result<(), store::Error> {
        let catalogue = self.catalogue.borrow().clone();
        let way = (claimed.batch.lane, &*claimed.lane);
        let (providers, now) = (&self.providers, claimed.now);
        let onward = onward::onward(&self.shard, &catalogue, way, providers, going, now).await?;
        chaos::point("collect.ending", &claimed.lane.provider);
        let batch = claimed.batch.id;
        let returned = batch::end(&self.shard, batch, claimed.claim, onward, claimed.now).await?;
        chaos::point("collect.ended", &claimed.lane.provider);
        self.accounts.set_room(&claimed.lane.provider);
        if returned > 0 {
            tracing::warn!(batch.id = %batch, returned, "{batch} ended without all outcomes");
        }
        Ok(())
    }

    /// The results have killed too many workers, however carefully they were processed: what is
    /// still open fails without being looked at.
    async fn set_aside(&self, claimed: &ClaimedBatch) -> Result<usize, store::Error> {
        let (batch, claim, now) = (&claimed.batch, claimed.claim, claimed.now);
        let heads = manifest::heads(&self.shard, batch.id, &batch.cargo).await?;
        for head in &heads {
            let cargo = head.cargo;
            tracing::error!(batch.id = %batch.id, cargo.id = %cargo, takeovers = batch.takeovers, "the result of {cargo} is set aside: workers died while processing it");
        }
        let count = heads.len();
        metrics::counter!("outcomes_set_aside_total", "reason" => "takeovers")
            .increment(count as u64);
        let why = "processing the result was interrupted too often";
        let failed = heads.into_iter();
        let failed = failed.map(|head| Finished::failed(head, why.to_owned()));
        let slots = Some(&self.callback_slots);
        storing::store(&self.shard, batch.id, claim, slots, failed.collect(), now).await?;
        self.end(claimed, Going::AtOnce).await?;
        Ok(count.max(1))
    }
}

impl Collect {
    /// Claims what there are free slots for; each batch becomes a task.
    async fn begin(&mut self, now: Timestamp) -> Result<usize, store::Error> {
        let (lost, claim) = (self.lease.token(), self.lease.claim());
        if self.tasks.has_unknown_claims() {
            self.tasks.recover(claim).await?;
        }
        let turns = self.tasks.turns(&mut self.lanes, now).await?;
        if turns.is_empty() {
            return Ok(0);
        }
        let collector = &self.collector;
        let batches = batch::claim_due(&collector.shard, claim, &turns, now).await?;
        let begun = batches.len();
        for batch in batches {
            let lane = self.lanes.find(&collector.shard, batch.lane).await?;
            chaos::point("collect.claimed", &lane.provider);
            let model = collector.catalogue.borrow().find(&lane.model).cloned();
            let claimed = ClaimedBatch {
                _probe: collector.accounts.probe(&lane.provider),
                batch,
                lane,
                model,
                claim,
                now,
                lost: lost.clone(),
                accounts: collector.accounts.clone(),
            };
            let collector = collector.clone();
            self.tasks.spawn(claimed.under_way(), async move {
                collector.poll(&claimed).await
            });
        }
        Ok(begun)
    }
}

#[async_trait::async_trait]
impl Stage for Collect {
    fn name(&self) -> &'static str {
        "collect"
    }

    async fn step(&mut self, now: Timestamp) -> Result<Step, store::Error> {
        let mut stored = 0;
        loop {
            let begun = self.begin(now).await?;
            stored += self.tasks.finish().await?;
            if begun == 0 {
                return Ok(Step::of(stored));
            }
        }
    }

    async fn advance(&mut self, now: Timestamp) -> Result<Step, store::Error> {
        let stored = self.tasks.reap().await;
        self.begin(now).await?;
        Ok(Step::of(stored))
    }

    async fn drain(&mut self) {
        self.tasks.drain(self.drain).await;
    }

    async fn mend(&mut self) -> Result<(), store::Error> {
        self.tasks.recover(self.lease.claim()).await
    }
}
