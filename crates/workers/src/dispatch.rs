//! Dispatch: a batch goes to its provider. The intent is written before it is asked.

use std::sync::Arc;

use chrono::TimeDelta;
use domain::batch::{MOST_TAKEOVERS, State};
use domain::id::BatchId;
use domain::model::Catalogue;
use domain::outcome::Outcome;
use domain::time::Timestamp;
use futures::future::join_all;
use outbound::provider::{Submission, SubmitFailure};
use rand::RngExt as _;
use store::Shard;
use store::shard::batch::{self, Claimed};
use store::shard::manifest;
use store::shard::node::Claim;
use tokio::sync::watch;

use crate::lanes::Lanes;
use crate::lease::Lease;
use crate::manifest::BatchManifest;
use crate::providers::Providers;
use crate::stage::{Bell, Stage, Step};
use crate::storing::{self, Finished};

/// Batches submitted at the same time.
const MOST: i64 = 8;
/// A provider that did not take a batch is asked again after this.
const LATER: TimeDelta = TimeDelta::seconds(5);

#[derive(Debug)]
pub struct Dispatch {
    pub(crate) shard: Arc<Shard>,
    pub(crate) lease: Lease,
    pub(crate) catalogue: watch::Receiver<Arc<Catalogue>>,
    pub(crate) providers: Arc<Providers>,
    pub(crate) lanes: Lanes,
    pub(crate) dispatched: Bell,
}

impl Dispatch {
    async fn submit(
        &self,
        batch: &Claimed,
        submission: Option<Submission>,
        claim: Claim,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        if batch.takeovers >= MOST_TAKEOVERS {
            return self.set_aside(batch, claim, now).await;
        }
        let provider = submission
            .as_ref()
            .and_then(|it| self.providers.mock(&it.provider));
        let (Some(submission), Some(provider)) = (submission, provider) else {
            let reason = "the model is no longer served";
            return self.fail(batch, reason, claim, now).await;
        };
        let mut items = BatchManifest::new(&self.shard, batch.id, &batch.cargo);
        match provider.submit(&submission, &mut items, now).await {
            Ok(submitted) => {
                let (job, at) = (submitted.job.0, submitted.next_poll_at);
                batch::run(&self.shard, batch.id, claim, &job, at, now).await
            }
            Err(SubmitFailure::Refused(reason)) => self.fail(batch, &reason, claim, now).await,
            // Either way the intent stands: the next one asks before it sends again.
            Err(SubmitFailure::Unavailable(reason) | SubmitFailure::Unknown(reason)) => {
                tracing::warn!(batch.id = %batch.id, reason, "{} was not submitted", batch.id);
                batch::ask_again(&self.shard, batch.id, claim, now + LATER).await
            }
        }
    }

    /// The batch has killed its workers too often: one of its cargo is poison.
    async fn set_aside(
        &self,
        batch: &Claimed,
        claim: Claim,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        tracing::warn!(batch.id = %batch.id, "{} is set aside after {MOST_TAKEOVERS} takeovers", batch.id);
        if batch.cargo.len() <= 1 {
            return self
                .fail(batch, "processing was interrupted too often", claim, now)
                .await;
        }
        let half = || BatchId::new(now, batch.id.berth(), rand::rng().random());
        batch::halve(&self.shard, batch, claim, [half(), half()], now).await
    }

    async fn fail(
        &self,
        batch: &Claimed,
        reason: &str,
        claim: Claim,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        let heads = manifest::heads(&self.shard, batch.id, &batch.cargo).await?;
        let failed = heads.into_iter().map(|head| Finished {
            head,
            outcome: Outcome::Failure(reason.to_owned()),
        });
        storing::store(&self.shard, batch.id, claim, None, failed.collect(), now).await?;
        batch::end(&self.shard, batch.id, claim, now).await?;
        Ok(())
    }
}

#[async_trait::async_trait]
impl Stage for Dispatch {
    fn name(&self) -> &'static str {
        "dispatch"
    }

    async fn step(&mut self, now: Timestamp) -> Result<Step, store::Error> {
        let claim = self.lease.claim();
        let batches = batch::claim_gathered(&self.shard, claim, MOST, now).await?;
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
            .map(|(batch, submission)| this.submit(batch, submission, claim, now));
        for result in join_all(under_way).await {
            result?;
        }
        self.dispatched.ring();
        Ok(Step::Did(batches.len()))
    }

    async fn mend(&mut self) -> Result<(), store::Error> {
        batch::free_own(&self.shard, self.lease.claim(), State::Submitting).await?;
        Ok(())
    }
}
