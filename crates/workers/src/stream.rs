//! Stream: sends the items of a batch as realtime requests, as many at once as the provider can
//! handle.
//!
//! Answers are stored soon after they arrive, so that a restart repeats only unanswered requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::TimeDelta;
use domain::batch::MAX_TAKEOVERS;
use domain::model::Catalogue;
use domain::time::Timestamp;
use outbound::object_store::ObjectStore;
use outbound::provider::client::ProviderCallFailure;
use outbound::provider::realtime::RealtimeProvider;
use outbound::provider::realtime::concurrency_limiter::ConcurrencyLimiter;
use store::Shard;
use store::shard::batch;
use store::shard::manifest;
use store::shard::provider;
use tokio::sync::watch;

use crate::account_pause::pause_account;
use crate::account_states::AccountStates;
use crate::batch_tasks::BatchTasks;
use crate::callback_slots::CallbackSlots;
use crate::claimed_batch::ClaimedBatch;
use crate::deadlines;
use crate::lane_cache::LaneCache;
use crate::lease::Lease;
use crate::providers::{ProviderAccess, Providers};
use crate::requeue::{self, RequeueTiming};
use crate::stage::{Stage, StepResult};

mod permit_guard;
mod realtime_run;

/// How long until an unhealthy server is tried again.
const SERVER_RETRY_DELAY: TimeDelta = TimeDelta::seconds(5);
/// How long a server may take to answer one request.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(10);
/// How many answers in a row raise a server's concurrency limit by one.
const ANSWERS_PER_LIMIT_RAISE: u32 = 8;

#[derive(Debug)]
pub struct StreamStage {
    pub(crate) lease: Lease,
    pub(crate) lanes: LaneCache,
    pub(crate) streamer: Arc<Streamer>,
    pub(crate) tasks: BatchTasks,
}

/// What the tasks of stream share.
#[derive(Debug)]
pub(crate) struct Streamer {
    pub(crate) shard: Arc<Shard>,
    pub(crate) accounts: Arc<AccountStates>,
    pub(crate) catalogue: watch::Receiver<Arc<Catalogue>>,
    pub(crate) providers: Arc<Providers>,
    pub(crate) callback_slots: CallbackSlots,
    /// Holds the files that messages reference.
    pub(crate) objects: Option<ObjectStore>,
    /// The concurrency limiter of each server, shared by all batches.
    pub(crate) limiters: Mutex<HashMap<String, Arc<Mutex<ConcurrencyLimiter>>>>,
}

impl Streamer {
    fn find_server(
        &self,
        name: &str,
    ) -> Option<(Arc<RealtimeProvider>, Arc<Mutex<ConcurrencyLimiter>>)> {
        let (server, share) = match self.providers.find(name)? {
            ProviderAccess::Realtime {
                realtime: server,
                share,
            }
            | ProviderAccess::Batch {
                realtime: Some(server),
                share,
                ..
            } => (server, share),
            ProviderAccess::Batch { realtime: None, .. } | ProviderAccess::Mock(_) => return None,
        };
        let most = u32::try_from(share.max_concurrent_requests).unwrap_or(u32::MAX);
        let mut servers = self.limiters.lock().unwrap_or_else(PoisonError::into_inner);
        let limiter = servers.entry(name.to_owned()).or_insert_with(|| {
            Arc::new(Mutex::new(ConcurrencyLimiter::new(
                most,
                ANSWERS_PER_LIMIT_RAISE,
            )))
        });
        Some((server.clone(), limiter.clone()))
    }

    async fn stream_batch(&self, claimed: &ClaimedBatch) -> Result<usize, store::Error> {
        let (batch, claim, now) = (&claimed.batch, claimed.claim, claimed.claimed_at);
        let model = claimed.model.as_ref();
        let route = model.and_then(|it| it.routes.find(&claimed.lane.provider, claimed.lane.via));
        let server = self.find_server(&claimed.lane.provider);
        let (Some(route), Some((server, limiter))) = (route, &server) else {
            self.end_batch(claimed, RequeueTiming::Immediately, now)
                .await?;
            return Ok(1);
        };
        if batch.takeovers >= MAX_TAKEOVERS {
            // One of its cargo may be a poison pill: requeued, it ends up in another batch.
            self.end_batch(claimed, RequeueTiming::Immediately, now)
                .await?;
            return Ok(1);
        }
        // Cargo past its deadline fails before it is sent.
        deadlines::fail_overdue(&self.shard, batch, claim, now).await?;
        if let Err(failure) = claimed.call_provider(server.check_health()).await? {
            return self
                .handle_unhealthy(claimed, &failure, self.shard.clock.now())
                .await;
        }
        let asking = realtime_run::RealtimeRun {
            streamer: self,
            claimed,
            upstream: &route.upstream_model,
            provider: server,
            limiter,
        };
        let asked = asking.run().await?;
        let now = self.shard.clock.now();
        if let Some(reason) = &asked.account_fault {
            self.pause_and_end(claimed, reason, now).await?;
        } else if asked.is_failing {
            let name = &claimed.lane.provider;
            self.accounts
                .record_failure(name, "realtime requests are not answered");
            batch::reschedule(&self.shard, batch.id, claim, now + SERVER_RETRY_DELAY).await?;
        } else {
            if asked.reports.is_empty() {
                provider::end_automatic_pause(&self.shard, &claimed.lane.provider).await?;
            }
            self.end_batch(claimed, RequeueTiming::AfterBackoff, now)
                .await?;
        }
        Ok(asked.stored)
    }

    async fn handle_unhealthy(
        &self,
        claimed: &ClaimedBatch,
        failure: &ProviderCallFailure,
        now: Timestamp,
    ) -> Result<usize, store::Error> {
        let batch = &claimed.batch;
        tracing::warn!(provider = claimed.lane.provider, %failure, "the realtime server is unhealthy");
        if matches!(
            failure,
            ProviderCallFailure::Unauthorized | ProviderCallFailure::OutOfCredit
        ) {
            self.pause_and_end(claimed, &failure.to_string(), now)
                .await?;
        } else if manifest::list_open(&self.shard, batch.id, &batch.cargo)
            .await?
            .is_empty()
        {
            self.end_batch(claimed, RequeueTiming::Immediately, now)
                .await?;
        } else {
            batch::reschedule(
                &self.shard,
                batch.id,
                claimed.claim,
                now + SERVER_RETRY_DELAY,
            )
            .await?;
        }
        Ok(0)
    }

    /// Pauses the account and requeues the open cargo.
    async fn pause_and_end(
        &self,
        claimed: &ClaimedBatch,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        pause_account(&self.shard, &claimed.lane.provider, reason, now).await?;
        self.end_batch(claimed, RequeueTiming::Immediately, now)
            .await
    }

    async fn end_batch(
        &self,
        claimed: &ClaimedBatch,
        timing: RequeueTiming,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        let catalogue = self.catalogue.borrow().clone();
        let (lane, providers) = ((claimed.batch.lane, &*claimed.lane), &self.providers);
        let onward =
            requeue::plan_requeue(&self.shard, &catalogue, lane, providers, timing, now).await?;
        batch::end(&self.shard, claimed.batch.id, claimed.claim, onward, now).await?;
        Ok(())
    }
}

impl StreamStage {
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
        let streamer = &self.streamer;
        let batches = batch::claim_running(&streamer.shard, claim, &turns, now).await?;
        let begun = batches.len();
        for batch in batches {
            let lane = self.lanes.find(&streamer.shard, batch.lane).await?;
            let model = streamer.catalogue.borrow().find(&lane.model).cloned();
            let claimed = ClaimedBatch {
                _probe: streamer.accounts.begin_probe(&lane.provider),
                batch,
                lane,
                model,
                claim,
                claimed_at: now,
                lease_lost: lost.clone(),
                accounts: streamer.accounts.clone(),
            };
            let streamer = streamer.clone();
            self.tasks.spawn(claimed.batch_task(), async move {
                streamer.stream_batch(&claimed).await
            });
        }
        Ok(begun)
    }
}

#[async_trait::async_trait]
impl Stage for StreamStage {
    fn name(&self) -> &'static str {
        "stream"
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

    async fn recover(&mut self) -> Result<(), store::Error> {
        self.tasks.recover(self.lease.claim()).await
    }
}
