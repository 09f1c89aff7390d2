//! Collect: a provider's word becomes outcomes.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::TimeDelta;
use domain::batch::State;
use domain::id::CargoId;
use domain::model::Catalogue;
use domain::time::Timestamp;
use futures::future::join_all;
use outbound::provider::{Answer, Job, Polled, Progress, Submission};
use store::Shard;
use store::shard::batch::{self, Claimed};
use store::shard::manifest::{self, Head};
use store::shard::node::Claim;
use tokio::sync::watch;

use crate::desk::Desk;
use crate::lanes::Lanes;
use crate::lease::Lease;
use crate::manifest::BatchManifest;
use crate::providers::Providers;
use crate::stage::{Stage, Step};
use crate::storing::{self, Finished};

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
}

impl Collect {
    async fn poll(
        &self,
        batch: &Claimed,
        submission: Option<Submission>,
        claim: Claim,
        now: Timestamp,
    ) -> Result<usize, store::Error> {
        let provider = submission
            .as_ref()
            .and_then(|it| self.providers.mock(&it.provider));
        let (Some(submission), Some(provider), Some(job)) = (submission, provider, &batch.job)
        else {
            // Nobody can be asked any more: what is open takes another way.
            batch::end(&self.shard, batch.id, claim, now).await?;
            return Ok(1);
        };
        let heads = manifest::heads(&self.shard, batch.id, &batch.cargo).await?;
        let mut items =
            BatchManifest::with_heads(&self.shard, batch.id, &batch.cargo, heads.clone());
        let polled = provider
            .poll(&Job(job.clone()), &submission, &mut items, now)
            .await;
        let Polled { results, progress } = match polled {
            Ok(polled) => polled,
            Err(failure) => {
                tracing::warn!(batch.id = %batch.id, failure = %failure.0, "{} could not be asked for", batch.id);
                batch::ask_again(&self.shard, batch.id, claim, now + LATER).await?;
                return Ok(0);
            }
        };
        let finished = matched(heads, results);
        let stored = storing::store(
            &self.shard,
            batch.id,
            claim,
            Some(&self.desk),
            finished,
            now,
        )
        .await?;
        match progress {
            Progress::Running { next_poll_at } => {
                batch::ask_again(&self.shard, batch.id, claim, next_poll_at).await?;
            }
            Progress::Ended => {
                let returned = batch::end(&self.shard, batch.id, claim, now).await?;
                if returned > 0 {
                    tracing::warn!(batch.id = %batch.id, returned, "{} ended without all outcomes", batch.id);
                }
            }
        }
        Ok(stored)
    }
}

/// Results that belong to open cargo in this very attempt; others are no answers of ours.
fn matched(heads: Vec<Head>, results: Vec<Answer>) -> Vec<Finished> {
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
        let batches = batch::claim_due(&self.shard, claim, MOST, now).await?;
        if batches.is_empty() {
            return Ok(Step::Idle);
        }
        let mut submissions = Vec::with_capacity(batches.len());
        for batch in &batches {
            let lane = self.lanes.find(&self.shard, batch.lane).await?;
            let model = self.catalogue.borrow().find(&lane.model).cloned();
            submissions.push(model.map(|model| Submission {
                batch: batch.id,
                provider: lane.provider.clone(),
                model,
            }));
        }
        let this = &*self;
        let under_way = batches
            .iter()
            .zip(submissions)
            .map(|(batch, submission)| this.poll(batch, submission, claim, now));
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
        batch::free_own(&self.shard, self.lease.claim(), State::Running).await?;
        Ok(())
    }
}
