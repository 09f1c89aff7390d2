//! Dispatch: a batch goes to its provider. The intent is written before it is asked.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use domain::id::BatchId;
use domain::model::{Catalogue, Model};
use domain::time::Timestamp;
use outbound::objects::Objects;
use outbound::provider::Provider;
use rand::RngExt as _;
use store::Shard;
use store::shard::batch::{self, Onward};
use store::shard::manifest;
use store::shard::provider::{self, Paused};
use store::shard::submission::{self, Entry};
use tokio::sync::watch;

use crate::accounts::Accounts;
use crate::chaos;
use crate::claimed::ClaimedBatch;
use crate::lanes::Lanes;
use crate::lease::Lease;
use crate::onward::{self, Going};
use crate::providers::{Access, Providers};
use crate::stage::{Bell, Stage, Step};
use crate::storing::{self, Finished};
use crate::tasks::BatchTasks;

mod late;
mod look;
mod mock;
mod pack;
mod submit;

use submit::Target;

/// What may be at a provider that is gone is looked at again after this.
const UNSERVED: TimeDelta = TimeDelta::minutes(1);
/// The job of a batch that is asked for one by one.
const ONE_BY_ONE: &str = "realtime";

#[derive(Debug)]
pub struct Dispatch {
    pub(crate) lease: Lease,
    pub(crate) lanes: Lanes,
    pub(crate) submitter: Arc<Submitter>,
    pub(crate) tasks: BatchTasks,
    pub(crate) drain: Duration,
}

/// What the tasks share.
#[derive(Debug)]
pub(crate) struct Submitter {
    pub(crate) shard: Arc<Shard>,
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) catalogue: watch::Receiver<Arc<Catalogue>>,
    pub(crate) providers: Arc<Providers>,
    /// Rung for each stage that may have a batch to ask for.
    pub(crate) dispatched: [Bell; 2],
    /// Where the files are that messages name.
    pub(crate) objects: Option<Objects>,
    /// Where jobs lie while they are put together.
    pub(crate) spools: PathBuf,
}

/// A batch that goes now, and where.
struct Ready {
    entry: Entry,
    way: Way,
}

enum Way {
    Mock(Model, Arc<dyn Provider>),
    Job(Target),
    OneByOne,
}

impl Submitter {
    /// Where it goes; nothing when it is not its turn, or it has been decided on.
    async fn ready(
        &self,
        claimed: &ClaimedBatch,
        paused: &HashMap<String, Paused>,
    ) -> Result<Option<Ready>, store::Error> {
        let entry = submission::read(&self.shard, claimed.batch.id).await?;
        let access = self.providers.find(&claimed.lane.provider);
        let (Some(model), Some(access)) = (&claimed.model, access) else {
            self.unserved(claimed, &entry).await?;
            return Ok(None);
        };
        if self
            .left_for_another_way(claimed, model, paused, &entry)
            .await?
        {
            return Ok(None);
        }
        let route = model.routes.find(&claimed.lane.provider, claimed.lane.via);
        let way = match (access, route) {
            (Access::Mock(mock), _) => Way::Mock(model.clone(), mock.clone()),
            (Access::Jobs { jobs, share, .. }, Some(route))
                if route.via == domain::route::Via::Batch =>
            {
                if !self.has_turn(claimed, &**jobs, &entry).await? {
                    return Ok(None);
                }
                Way::Job(Target {
                    jobs: jobs.clone(),
                    share: *share,
                    upstream: route.upstream.clone(),
                    model: model.clone(),
                })
            }
            (Access::Jobs { .. } | Access::Server { .. }, Some(_)) => Way::OneByOne,
            // The route was taken out of the catalogue: what waits takes another.
            (Access::Jobs { .. } | Access::Server { .. }, None) => {
                self.return_all(claimed).await?;
                return Ok(None);
            }
        };
        Ok(Some(Ready { entry, way }))
    }

    async fn submit(&self, claimed: &ClaimedBatch, ready: &Ready) -> Result<(), store::Error> {
        let (batch, claim, now) = (claimed.batch.id, claimed.claim, claimed.now);
        match &ready.way {
            Way::Mock(model, mock) => self.submit_to_mock(claimed, model, &**mock).await?,
            Way::Job(target) => self.submit_job(claimed, target, &ready.entry).await?,
            Way::OneByOne => {
                batch::run(&self.shard, batch, claim, ONE_BY_ONE, now, now).await?;
            }
        }
        for bell in &self.dispatched {
            bell.ring();
        }
        Ok(())
    }

    /// The batch has killed its workers too often: one of its cargo is poison.
    async fn set_aside(&self, claimed: &ClaimedBatch) -> Result<(), store::Error> {
        let batch = &claimed.batch;
        tracing::warn!(batch.id = %batch.id, "{} is set aside after {} takeovers", batch.id, batch.takeovers);
        if batch.cargo.len() <= 1 {
            return self
                .fail(claimed, "processing was interrupted too often")
                .await;
        }
        self.halve(claimed).await
    }

    async fn halve(&self, claimed: &ClaimedBatch) -> Result<(), store::Error> {
        let (batch, claim, now) = (&claimed.batch, claimed.claim, claimed.now);
        let half = || BatchId::new(now, batch.id.berth(), rand::rng().random());
        let mut halves = [half(), half()];
        // Both are of this moment: by its id, what was before the other stays before it.
        halves.sort_unstable();
        batch::halve(&self.shard, batch, claim, halves, now).await
    }

    async fn fail(&self, claimed: &ClaimedBatch, reason: &str) -> Result<(), store::Error> {
        let (batch, claim, now) = (&claimed.batch, claimed.claim, claimed.now);
        let heads = manifest::heads(&self.shard, batch.id, &batch.cargo).await?;
        let failed = heads.into_iter();
        let failed = failed.map(|head| Finished::failed(head, reason.to_owned()));
        storing::store(&self.shard, batch.id, claim, None, failed.collect(), now).await?;
        batch::end(&self.shard, batch.id, claim, Onward::default(), now).await?;
        Ok(())
    }

    /// Its provider is not known here; another may be.
    async fn unserved(&self, claimed: &ClaimedBatch, entry: &Entry) -> Result<(), store::Error> {
        // It may have become a job that nobody here can ask for: not to be sent elsewhere yet.
        if entry.sent_at.is_some() && !entry.is_given_up(claimed.now) {
            tracing::error!(batch.id = %claimed.batch.id, provider = claimed.lane.provider, "{} may be at a provider that is no longer configured: put it back, or wait", claimed.batch.id);
            let at = claimed.now + UNSERVED;
            return batch::ask_again(&self.shard, claimed.batch.id, claimed.claim, at).await;
        }
        let routes = claimed.model.iter().flat_map(|model| model.routes.iter());
        let mut others = routes.filter(|route| self.providers.find(&route.provider).is_some());
        if others.next().is_some() {
            return self.return_all(claimed).await;
        }
        self.fail(claimed, "the model is no longer served").await
    }

    /// Nothing of it is at a provider: all of it takes the next way.
    async fn return_all(&self, claimed: &ClaimedBatch) -> Result<(), store::Error> {
        let catalogue = self.catalogue.borrow().clone();
        let way = (claimed.batch.lane, &*claimed.lane);
        let (providers, now) = (&self.providers, claimed.now);
        let onward =
            onward::onward(&self.shard, &catalogue, way, providers, Going::AtOnce, now).await?;
        batch::end(
            &self.shard,
            claimed.batch.id,
            claimed.claim,
            onward,
            claimed.now,
        )
        .await?;
        Ok(())
    }
}

impl Dispatch {
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
        let submitter = &self.submitter;
        let batches = batch::claim_gathered(&submitter.shard, claim, &turns, now).await?;
        let begun = batches.len();
        let paused = provider::paused(&submitter.shard).await?;
        for batch in batches {
            let lane = self.lanes.find(&submitter.shard, batch.lane).await?;
            chaos::point("dispatch.claimed", &lane.provider);
            let model = submitter.catalogue.borrow().find(&lane.model).cloned();
            let claimed = ClaimedBatch {
                _probe: submitter.accounts.probe(&lane.provider),
                batch,
                lane,
                model,
                claim,
                now,
                lost: lost.clone(),
                accounts: submitter.accounts.clone(),
            };
            // One after the other: where only one can go, it is the oldest, not the quickest to
            // ask. This asks rows alone, never another machine.
            let ready = submitter.ready(&claimed, &paused).await;
            let submitter = submitter.clone();
            self.tasks.spawn(claimed.under_way(), async move {
                if let Some(ready) = ready? {
                    submitter.submit(&claimed, &ready).await?;
                }
                Ok(1)
            });
        }
        Ok(begun)
    }
}

#[async_trait::async_trait]
impl Stage for Dispatch {
    fn name(&self) -> &'static str {
        "dispatch"
    }

    async fn step(&mut self, now: Timestamp) -> Result<Step, store::Error> {
        let mut did = 0;
        loop {
            let begun = self.begin(now).await?;
            did += self.tasks.finish().await?;
            if begun == 0 {
                return Ok(Step::of(did));
            }
        }
    }

    async fn advance(&mut self, now: Timestamp) -> Result<Step, store::Error> {
        self.tasks.reap().await;
        Ok(Step::of(self.begin(now).await?))
    }

    async fn drain(&mut self) {
        self.tasks.drain(self.drain).await;
    }

    async fn mend(&mut self) -> Result<(), store::Error> {
        self.tasks.recover(self.lease.claim()).await
    }
}
