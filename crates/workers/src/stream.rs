//! Stream: batches whose provider is asked one by one, as many at once as it bears.
//!
//! An answer is stored soon after it came, so that a restart asks only for what has none.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::TimeDelta;
use domain::batch::{MOST_TAKEOVERS, State};
use domain::lane::Lane;
use domain::model::{Catalogue, Model};
use domain::route::Via;
use domain::time::Timestamp;
use futures::future::join_all;
use outbound::objects::Objects;
use outbound::provider::call::CallFailure;
use outbound::provider::server::Server;
use outbound::provider::server::concurrency::Concurrency;
use store::Shard;
use store::shard::batch::{self, Claimed};
use store::shard::manifest;
use store::shard::node::Claim;
use store::shard::provider;
use tokio::sync::watch;

use crate::desk::Desk;
use crate::lanes::Lanes;
use crate::late;
use crate::lease::Lease;
use crate::onward::{self, Going};
use crate::pause::pause;
use crate::providers::{Access, Providers};
use crate::stage::{Stage, Step};

mod ask;
mod place;

/// Batches that are asked for at the same time.
const MOST: i64 = 4;
/// A server that is not well is asked again after this.
const LATER: TimeDelta = TimeDelta::seconds(5);
/// One answer may take this long.
const PATIENCE: Duration = Duration::from_mins(10);
/// So many answers in a row make us ask for one more at once.
const WELL: u32 = 8;

#[derive(Debug)]
pub struct Stream {
    pub(crate) shard: Arc<Shard>,
    pub(crate) lease: Lease,
    pub(crate) catalogue: watch::Receiver<Arc<Catalogue>>,
    pub(crate) providers: Arc<Providers>,
    pub(crate) lanes: Lanes,
    pub(crate) desk: Desk,
    /// Where the files are that messages name.
    pub(crate) objects: Option<Objects>,
    /// How much each server bears, for all batches together.
    pub(crate) servers: HashMap<String, Arc<Mutex<Concurrency>>>,
}

/// A batch in hand, and whom to ask for it.
struct Load<'a> {
    batch: &'a Claimed,
    lane: Arc<Lane>,
    model: Option<Model>,
    server: Option<(Arc<Server>, Arc<Mutex<Concurrency>>)>,
    claim: Claim,
}

impl Stream {
    fn server(&mut self, name: &str) -> Option<(Arc<Server>, Arc<Mutex<Concurrency>>)> {
        let (server, share) = match self.providers.find(name)? {
            Access::Server { server, share }
            | Access::Jobs {
                realtime: Some(server),
                share,
                ..
            } => (server, share),
            Access::Jobs { realtime: None, .. } | Access::Mock(_) => return None,
        };
        let most = u32::try_from(share.most_questions).unwrap_or(u32::MAX);
        let bears = self
            .servers
            .entry(name.to_owned())
            .or_insert_with(|| Arc::new(Mutex::new(Concurrency::new(most, WELL))));
        Some((server.clone(), bears.clone()))
    }

    async fn serve(&self, load: &Load<'_>, now: Timestamp) -> Result<usize, store::Error> {
        let (batch, claim) = (load.batch, load.claim);
        let model = load.model.as_ref();
        let route = model.and_then(|it| it.routes.find(&load.lane.provider, load.lane.via));
        let (Some(route), Some((server, bears))) = (route, &load.server) else {
            self.end(load, Going::AtOnce, now).await?;
            return Ok(1);
        };
        if batch.takeovers >= MOST_TAKEOVERS {
            // It may be one of them that kills us: another way, or one by one, shows which.
            self.end(load, Going::AtOnce, now).await?;
            return Ok(1);
        }
        // At its deadline what is at no provider fails, and a question that may be asked is there.
        late::fail_overdue(&self.shard, batch, claim, now).await?;
        if let Err(failure) = server.health().await {
            return self.not_well(load, &failure, now).await;
        }
        let asking = ask::Asking {
            stream: self,
            load,
            upstream: &route.upstream,
            server,
            bears,
        };
        let asked = asking.all().await?;
        let now = self.shard.clock.now();
        if let Some(reason) = &asked.account_fault {
            self.pause(load, reason, now).await?;
        } else if asked.is_troubled {
            batch::ask_again(&self.shard, batch.id, claim, now + LATER).await?;
        } else {
            if asked.reports.is_empty() {
                provider::recover(&self.shard, &load.lane.provider).await?;
            }
            self.end(load, Going::Rested, now).await?;
        }
        Ok(asked.stored)
    }

    async fn not_well(
        &self,
        load: &Load<'_>,
        failure: &CallFailure,
        now: Timestamp,
    ) -> Result<usize, store::Error> {
        let batch = load.batch;
        tracing::warn!(provider = load.lane.provider, %failure, "the model's server is not well");
        if matches!(failure, CallFailure::Unauthorized | CallFailure::OutOfFunds) {
            self.pause(load, &failure.to_string(), now).await?;
        } else if manifest::heads(&self.shard, batch.id, &batch.cargo)
            .await?
            .is_empty()
        {
            self.end(load, Going::AtOnce, now).await?;
        } else {
            batch::ask_again(&self.shard, batch.id, load.claim, now + LATER).await?;
        }
        Ok(0)
    }

    /// Nothing more is asked there for a while; what is open waits, or takes another way.
    async fn pause(
        &self,
        load: &Load<'_>,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        pause(&self.shard, &load.lane.provider, reason, now).await?;
        self.end(load, Going::AtOnce, now).await
    }

    async fn end(&self, load: &Load<'_>, going: Going, now: Timestamp) -> Result<(), store::Error> {
        let catalogue = self.catalogue.borrow().clone();
        let (way, providers) = ((load.batch.lane, &*load.lane), &self.providers);
        let onward = onward::onward(&self.shard, &catalogue, way, providers, going, now).await?;
        batch::end(&self.shard, load.batch.id, load.claim, onward, now).await?;
        Ok(())
    }
}

#[async_trait::async_trait]
impl Stage for Stream {
    fn name(&self) -> &'static str {
        "stream"
    }

    async fn step(&mut self, now: Timestamp) -> Result<Step, store::Error> {
        let claim = self.lease.claim();
        let batches = batch::claim_due(&self.shard, claim, Via::Realtime, MOST, now).await?;
        if batches.is_empty() {
            return Ok(Step::Idle);
        }
        let mut loads = Vec::with_capacity(batches.len());
        for batch in &batches {
            let lane = self.lanes.find(&self.shard, batch.lane).await?;
            let model = self.catalogue.borrow().find(&lane.model).cloned();
            let server = self.server(&lane.provider);
            loads.push(Load {
                batch,
                lane,
                model,
                server,
                claim,
            });
        }
        let this = &*self;
        let under_way = loads.iter().map(|load| this.serve(load, now));
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
            Some(Via::Realtime),
        )
        .await?;
        Ok(())
    }
}
