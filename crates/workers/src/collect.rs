//! Collect: a provider's word becomes outcomes.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use chrono::TimeDelta;
use domain::batch::State;
use domain::id::CargoId;
use domain::lane::Lane;
use domain::model::{Catalogue, Model, Price};
use domain::route::Via;
use domain::time::Timestamp;
use futures::future::join_all;
use outbound::provider::{Answer, Job, Polled, Progress, Provider, Submission};
use store::Shard;
use store::shard::batch::{self, Claimed};
use store::shard::manifest::{self, Head};
use store::shard::node::Claim;
use tokio::sync::watch;

use crate::chaos;
use crate::desk::Desk;
use crate::lanes::Lanes;
use crate::lease::Lease;
use crate::manifest::BatchManifest;
use crate::onward::{self, Going};
use crate::providers::{Access, Providers};
use crate::stage::{Stage, Step};
use crate::storing::{self, Finished};

mod ingest;
mod job;

/// Batches asked for at the same time.
const MOST: i64 = 8;
/// A provider that did not answer is asked again after this.
const LATER: TimeDelta = TimeDelta::seconds(5);

#[derive(Debug)]
pub struct Collect {
    pub(crate) shard: Arc<Shard>,
    pub(crate) lease: Lease,
    pub(crate) catalogue: watch::Receiver<Arc<Catalogue>>,
    pub(crate) providers: Arc<Providers>,
    pub(crate) lanes: Lanes,
    pub(crate) desk: Desk,
    /// Where results lie while they are read.
    pub(crate) spools: PathBuf,
}

/// A batch in hand, and all that is known of its way.
struct Load<'a> {
    batch: &'a Claimed,
    lane: Arc<Lane>,
    model: Option<Model>,
    claim: Claim,
    now: Timestamp,
}

impl Collect {
    async fn poll(&self, load: &Load<'_>) -> Result<usize, store::Error> {
        let access = self.providers.find(&load.lane.provider);
        match (&load.model, access, &load.batch.job) {
            (Some(model), Some(Access::Mock(mock)), Some(job)) => {
                self.poll_mock(load, model, &**mock, job).await
            }
            (Some(model), Some(Access::Jobs { jobs, share, .. }), Some(job)) => {
                let source = job::Source {
                    jobs: &**jobs,
                    share: *share,
                    model,
                    job: &Job(job.clone()),
                };
                self.poll_job(load, &source).await
            }
            // Nobody can be asked any more: what is open takes another way.
            _ => {
                self.end(load, Going::AtOnce).await?;
                Ok(1)
            }
        }
    }

    /// Ends the batch; what has no outcome goes on.
    async fn end(&self, load: &Load<'_>, going: Going) -> Result<(), store::Error> {
        let catalogue = self.catalogue.borrow().clone();
        let way = (load.batch.lane, &*load.lane);
        let (providers, now) = (&self.providers, load.now);
        let onward = onward::onward(&self.shard, &catalogue, way, providers, going, now).await?;
        chaos::point("collect.ending", &load.lane.provider);
        let batch = load.batch.id;
        let returned = batch::end(&self.shard, batch, load.claim, onward, load.now).await?;
        chaos::point("collect.ended", &load.lane.provider);
        if returned > 0 {
            tracing::warn!(batch.id = %batch, returned, "{batch} ended without all outcomes");
        }
        Ok(())
    }

    async fn poll_mock(
        &self,
        load: &Load<'_>,
        model: &Model,
        mock: &dyn Provider,
        job: &str,
    ) -> Result<usize, store::Error> {
        let Load {
            batch, claim, now, ..
        } = *load;
        let submission = Submission {
            batch: batch.id,
            model: model.clone(),
        };
        let heads = manifest::heads(&self.shard, batch.id, &batch.cargo).await?;
        let mut items =
            BatchManifest::with_heads(&self.shard, batch.id, &batch.cargo, heads.clone());
        let job = Job(job.to_owned());
        let polled = mock.poll(&job, &submission, &mut items, now).await;
        let Polled { results, progress } = match polled {
            Ok(polled) => polled,
            Err(failure) => {
                tracing::warn!(batch.id = %batch.id, failure = %failure.0, "{} could not be asked for", batch.id);
                batch::ask_again(&self.shard, batch.id, claim, now + LATER).await?;
                return Ok(0);
            }
        };
        let finished = matched(heads, results, model.realtime());
        let desk = Some(&self.desk);
        let stored = storing::store(&self.shard, batch.id, claim, desk, finished, now).await?;
        match progress {
            Progress::Running { next_poll_at } => {
                batch::ask_again(&self.shard, batch.id, claim, next_poll_at).await?;
            }
            Progress::Ended => {
                self.end(load, Going::AtOnce).await?;
            }
        }
        Ok(stored)
    }
}

/// Results that belong to open cargo in this very attempt; others are no answers of ours.
fn matched(heads: Vec<Head>, results: Vec<Answer>, realtime: Option<Price>) -> Vec<Finished> {
    let mut open: HashMap<CargoId, Head> =
        heads.into_iter().map(|head| (head.cargo, head)).collect();
    let mut finished = Vec::with_capacity(results.len());
    for answer in results {
        if open
            .get(&answer.cargo)
            .is_none_or(|head| head.attempt != answer.attempt)
        {
            metrics::counter!("collect_unmatched_results_total").increment(1);
            continue;
        }
        if let Some(head) = open.remove(&answer.cargo) {
            finished.push(Finished {
                head,
                outcome: answer.outcome,
                realtime,
            });
        }
    }
    finished
}

#[async_trait::async_trait]
impl Stage for Collect {
    fn name(&self) -> &'static str {
        "collect"
    }

    async fn step(&mut self, now: Timestamp) -> Result<Step, store::Error> {
        let claim = self.lease.claim();
        let batches = batch::claim_due(&self.shard, claim, Via::Batch, MOST, now).await?;
        if batches.is_empty() {
            return Ok(Step::Idle);
        }
        let mut loads = Vec::with_capacity(batches.len());
        for batch in &batches {
            let lane = self.lanes.find(&self.shard, batch.lane).await?;
            chaos::point("collect.claimed", &lane.provider);
            let model = self.catalogue.borrow().find(&lane.model).cloned();
            loads.push(Load {
                batch,
                lane,
                model,
                claim,
                now,
            });
        }
        let this = &*self;
        let under_way = loads.iter().map(|load| this.poll(load));
        let mut stored = 0;
        for result in join_all(under_way).await {
            stored += result?;
        }
        Ok(if stored == 0 {
            Step::Idle
        } else {
            Step::Did(stored)
        })
    }

    async fn mend(&mut self) -> Result<(), store::Error> {
        batch::free_own(
            &self.shard,
            self.lease.claim(),
            State::Running,
            Some(Via::Batch),
        )
        .await?;
        Ok(())
    }
}
