//! Stream: batches whose provider is asked one by one, as many at once as it bears.
//!
//! An answer is stored soon after it came, so that a restart asks only for what has none.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::TimeDelta;
use domain::batch::MOST_TAKEOVERS;
use domain::model::Catalogue;
use domain::time::Timestamp;
use outbound::objects::Objects;
use outbound::provider::call::CallFailure;
use outbound::provider::server::Server;
use outbound::provider::server::concurrency::Concurrency;
use store::Shard;
use store::shard::batch;
use store::shard::manifest;
use store::shard::provider;
use tokio::sync::watch;

use crate::accounts::Accounts;
use crate::callback_slots::CallbackSlots;
use crate::claimed::ClaimedBatch;
use crate::lanes::Lanes;
use crate::late;
use crate::lease::Lease;
use crate::onward::{self, Going};
use crate::pause::pause;
use crate::providers::{Access, Providers};
use crate::stage::{Stage, Step};
use crate::tasks::BatchTasks;

mod ask;
mod place;

/// A server that is not well is asked again after this.
const LATER: TimeDelta = TimeDelta::seconds(5);
/// One answer may take this long.
const PATIENCE: Duration = Duration::from_mins(10);
/// So many answers in a row make us ask for one more at once.
const WELL: u32 = 8;

#[derive(Debug)]
pub struct Stream {
    pub(crate) lease: Lease,
    pub(crate) lanes: Lanes,
    pub(crate) streamer: Arc<Streamer>,
    pub(crate) tasks: BatchTasks,
}

/// What the tasks share.
#[derive(Debug)]
pub(crate) struct Streamer {
    pub(crate) shard: Arc<Shard>,
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) catalogue: watch::Receiver<Arc<Catalogue>>,
    pub(crate) providers: Arc<Providers>,
    pub(crate) callback_slots: CallbackSlots,
    /// Where the files are that messages name.
    pub(crate) objects: Option<Objects>,
    /// How much each server bears, for all batches together.
    pub(crate) servers: Mutex<HashMap<String, Arc<Mutex<Concurrency>>>>,
}

impl Streamer {
    fn server(&self, name: &str) -> Option<(Arc<Server>, Arc<Mutex<Concurrency>>)> {
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
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let bears = servers
            .entry(name.to_owned())
            .or_insert_with(|| Arc::new(Mutex::new(Concurrency::new(most, WELL))));
        Some((server.clone(), bears.clone()))
    }

    async fn serve(&self, claimed: &ClaimedBatch) -> Result<usize, store::Error> {
        let (batch, claim, now) = (&claimed.batch, claimed.claim, claimed.now);
        let model = claimed.model.as_ref();
        let route = model.and_then(|it| it.routes.find(&claimed.lane.provider, claimed.lane.via));
        let server = self.server(&claimed.lane.provider);
        let (Some(route), Some((server, bears))) = (route, &server) else {
            self.end(claimed, Going::AtOnce, now).await?;
            return Ok(1);
        };
        if batch.takeovers >= MOST_TAKEOVERS {
            // It may be one of them that kills us: another way, or one by one, shows which.
            self.end(claimed, Going::AtOnce, now).await?;
            return Ok(1);
        }
        // At its deadline what is at no provider fails, and a question that may be asked is there.
        late::fail_overdue(&self.shard, batch, claim, now).await?;
        if let Err(failure) = claimed.call(server.health()).await? {
            return self
                .not_well(claimed, &failure, self.shard.clock.now())
                .await;
        }
        let asking = ask::Asking {
            streamer: self,
            claimed,
            upstream: &route.upstream,
            server,
            bears,
        };
        let asked = asking.all().await?;
        let now = self.shard.clock.now();
        if let Some(reason) = &asked.account_fault {
            self.pause(claimed, reason, now).await?;
        } else if asked.is_troubled {
            let name = &claimed.lane.provider;
            self.accounts.failed(name, "questions have no answers");
            batch::ask_again(&self.shard, batch.id, claim, now + LATER).await?;
        } else {
            if asked.reports.is_empty() {
                provider::recover(&self.shard, &claimed.lane.provider).await?;
            }
            self.end(claimed, Going::Rested, now).await?;
        }
        Ok(asked.stored)
    }

    async fn not_well(
        &self,
        claimed: &ClaimedBatch,
        failure: &CallFailure,
        now: Timestamp,
    ) -> Result<usize, store::Error> {
        let batch = &claimed.batch;
        tracing::warn!(provider = claimed.lane.provider, %failure, "the model's server is not well");
        if matches!(failure, CallFailure::Unauthorized | CallFailure::OutOfFunds) {
            self.pause(claimed, &failure.to_string(), now).await?;
        } else if manifest::heads(&self.shard, batch.id, &batch.cargo)
            .await?
            .is_empty()
        {
            self.end(claimed, Going::AtOnce, now).await?;
        } else {
            batch::ask_again(&self.shard, batch.id, claimed.claim, now + LATER).await?;
        }
        Ok(0)
    }

    /// Nothing more is asked there for a while; what is open waits, or takes another way.
    async fn pause(
        &self,
        claimed: &ClaimedBatch,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        pause(&self.shard, &claimed.lane.provider, reason, now).await?;
        self.end(claimed, Going::AtOnce, now).await
    }

    async fn end(
        &self,
        claimed: &ClaimedBatch,
        going: Going,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        let catalogue = self.catalogue.borrow().clone();
        let (way, providers) = ((claimed.batch.lane, &*claimed.lane), &self.providers);
        let onward = onward::onward(&self.shard, &catalogue, way, providers, going, now).await?;
        batch::end(&self.shard, claimed.batch.id, claimed.claim, onward, now).await?;
        Ok(())
    }
}

impl Stream {
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
        let streamer = &self.streamer;
        let batches = batch::claim_due(&streamer.shard, claim, &turns, now).await?;
        let begun = batches.len();
        for batch in batches {
            let lane = self.lanes.find(&streamer.shard, batch.lane).await?;
            let model = streamer.catalogue.borrow().find(&lane.model).cloned();
            let claimed = ClaimedBatch {
                _probe: streamer.accounts.probe(&lane.provider),
                batch,
                lane,
                model,
                claim,
                now,
                lost: lost.clone(),
                accounts: streamer.accounts.clone(),
            };
            let streamer = streamer.clone();
            self.tasks.spawn(claimed.under_way(), async move {
                streamer.serve(&claimed).await
            });
        }
        Ok(begun)
    }
}

#[async_trait::async_trait]
impl Stage for Stream {
    fn name(&self) -> &'static str {
        "stream"
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

    async fn mend(&mut self) -> Result<(), store::Error> {
        self.tasks.recover(self.lease.claim()).await
    }
}
