//! Dispatch: a batch goes to its provider. The intent is written before it is asked.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use chrono::TimeDelta;
use domain::batch::State;
use domain::id::BatchId;
use domain::lane::Lane;
use domain::model::{Catalogue, Model};
use domain::time::Timestamp;
use futures::future::join_all;
use outbound::objects::Objects;
use outbound::provider::Provider;
use rand::RngExt as _;
use store::Shard;
use store::shard::batch::{self, Claimed, Onward};
use store::shard::manifest;
use store::shard::node::Claim;
use store::shard::provider::{self, Paused};
use store::shard::submission::{self, Entry};
use tokio::sync::watch;

use crate::chaos;
use crate::lanes::Lanes;
use crate::lease::Lease;
use crate::onward::{self, Going};
use crate::providers::{Access, Providers};
use crate::stage::{Bell, Stage, Step};
use crate::storing::{self, Finished};

mod late;
mod look;
mod mock;
mod pack;
mod submit;

use submit::Target;

/// Batches submitted at the same time.
const MOST: i64 = 8;
/// What may be at a provider that is gone is looked at again after this.
const UNSERVED: TimeDelta = TimeDelta::minutes(1);
/// The job of a batch that is asked for one by one.
const ONE_BY_ONE: &str = "realtime";

#[derive(Debug)]
pub struct Dispatch {
    pub(crate) shard: Arc<Shard>,
    pub(crate) lease: Lease,
    pub(crate) catalogue: watch::Receiver<Arc<Catalogue>>,
    pub(crate) providers: Arc<Providers>,
    pub(crate) lanes: Lanes,
    pub(crate) dispatched: Bell,
    /// Where the files are that messages name.
    pub(crate) objects: Option<Objects>,
    /// Where jobs lie while they are put together.
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

/// A batch that goes now, and where.
struct Ready<'a> {
    entry: Entry,
    way: Way<'a>,
}

enum Way<'a> {
    Mock(&'a Model, &'a dyn Provider),
    Job(Target<'a>),
    OneByOne,
}

impl Dispatch {
    /// Where it goes; nothing when it is not its turn, or it has been decided on.
    async fn ready<'a>(
        &'a self,
        load: &'a Load<'_>,
        paused: &HashMap<String, Paused>,
    ) -> Result<Option<Ready<'a>>, store::Error> {
        let entry = submission::read(&self.shard, load.batch.id).await?;
        let access = self.providers.find(&load.lane.provider);
        let (Some(model), Some(access)) = (&load.model, access) else {
            self.unserved(load, &entry).await?;
            return Ok(None);
        };
        if self
            .left_for_another_way(load, model, paused, &entry)
            .await?
        {
            return Ok(None);
        }
        let route = model.routes.find(&load.lane.provider, load.lane.via);
        let way = match (access, route) {
            (Access::Mock(mock), _) => Way::Mock(model, &**mock),
            (Access::Jobs { jobs, share, .. }, Some(route))
                if route.via == domain::route::Via::Batch =>
            {
                if !self.has_turn(load, &**jobs, &entry).await? {
                    return Ok(None);
                }
                Way::Job(Target {
                    jobs: &**jobs,
                    share: *share,
                    upstream: &route.upstream,
                    model,
                })
            }
            (Access::Jobs { .. } | Access::Server { .. }, Some(_)) => Way::OneByOne,
            // The route was taken out of the catalogue: what waits takes another.
            (Access::Jobs { .. } | Access::Server { .. }, None) => {
                self.return_all(load).await?;
                return Ok(None);
            }
        };
        Ok(Some(Ready { entry, way }))
    }

    async fn submit(&self, load: &Load<'_>, ready: &Ready<'_>) -> Result<(), store::Error> {
        let Load {
            batch, claim, now, ..
        } = *load;
        match &ready.way {
            Way::Mock(model, mock) => self.submit_to_mock(load, model, *mock).await,
            Way::Job(target) => self.submit_job(load, target, &ready.entry).await,
            Way::OneByOne => batch::run(&self.shard, batch.id, claim, ONE_BY_ONE, now, now).await,
        }
    }

    /// The batch has killed its workers too often: one of its cargo is poison.
    async fn set_aside(&self, load: &Load<'_>) -> Result<(), store::Error> {
        let batch = load.batch;
        tracing::warn!(batch.id = %batch.id, "{} is set aside after {} takeovers", batch.id, batch.takeovers);
        if batch.cargo.len() <= 1 {
            return self
                .fail(load, "processing was interrupted too often")
                .await;
        }
        self.halve(load).await
    }

    async fn halve(&self, load: &Load<'_>) -> Result<(), store::Error> {
        let Load {
            batch, claim, now, ..
        } = *load;
        let half = || BatchId::new(now, batch.id.berth(), rand::rng().random());
        let mut halves = [half(), half()];
        // Both are of this moment: by its id, what was before the other stays before it.
        halves.sort_unstable();
        batch::halve(&self.shard, batch, claim, halves, now).await
    }

    async fn fail(&self, load: &Load<'_>, reason: &str) -> Result<(), store::Error> {
        let Load {
            batch, claim, now, ..
        } = *load;
        let heads = manifest::heads(&self.shard, batch.id, &batch.cargo).await?;
        let failed = heads.into_iter();
        let failed = failed.map(|head| Finished::failed(head, reason.to_owned()));
        storing::store(&self.shard, batch.id, claim, None, failed.collect(), now).await?;
        batch::end(&self.shard, batch.id, claim, Onward::default(), now).await?;
        Ok(())
    }

    /// Its provider is not known here; another may be.
    async fn unserved(&self, load: &Load<'_>, entry: &Entry) -> Result<(), store::Error> {
        // It may have become a job that nobody here can ask for: not to be sent elsewhere yet.
        if entry.sent_at.is_some() && !entry.is_given_up(load.now) {
            tracing::error!(batch.id = %load.batch.id, provider = load.lane.provider, "{} may be at a provider that is no longer configured: put it back, or wait", load.batch.id);
            let at = load.now + UNSERVED;
            return batch::ask_again(&self.shard, load.batch.id, load.claim, at).await;
        }
        let routes = load.model.iter().flat_map(|model| model.routes.iter());
        let mut others = routes.filter(|route| self.providers.find(&route.provider).is_some());
        if others.next().is_some() {
            return self.return_all(load).await;
        }
        self.fail(load, "the model is no longer served").await
    }

    /// Nothing of it is at a provider: all of it takes the next way.
    async fn return_all(&self, load: &Load<'_>) -> Result<(), store::Error> {
        let catalogue = self.catalogue.borrow().clone();
        let way = (load.batch.lane, &*load.lane);
        let (providers, now) = (&self.providers, load.now);
        let onward =
            onward::onward(&self.shard, &catalogue, way, providers, Going::AtOnce, now).await?;
        batch::end(&self.shard, load.batch.id, load.claim, onward, load.now).await?;
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
        let paused = provider::paused(&self.shard).await?;
        let mut loads = Vec::with_capacity(batches.len());
        for batch in &batches {
            let lane = self.lanes.find(&self.shard, batch.lane).await?;
            chaos::point("dispatch.claimed", &lane.provider);
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
        // One after the other: where only one can go, it is the oldest, not the quickest to ask.
        let mut ready = Vec::with_capacity(loads.len());
        for load in &loads {
            ready.push((load, this.ready(load, &paused).await));
        }
        let under_way = ready.into_iter().map(|(load, ready)| async move {
            match ready? {
                Some(ready) => this.submit(load, &ready).await,
                None => Ok(()),
            }
        });
        for result in join_all(under_way).await {
            result?;
        }
        self.dispatched.ring();
        Ok(Step::Did(batches.len()))
    }

    async fn mend(&mut self) -> Result<(), store::Error> {
        batch::free_own(&self.shard, self.lease.claim(), State::Submitting, None).await?;
        Ok(())
    }
}
