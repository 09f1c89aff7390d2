//! Dispatch: submits batches to their providers. It records the intent before it calls the
//! provider.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use domain::id::BatchId;
use domain::model::Catalogue;
use domain::reason_code::{CargoFailure, FailureCode};
use domain::time::Timestamp;
use outbound::object_store::ObjectStore;
use rand::RngExt as _;
use store::Shard;
use store::shard::batch::{self, RequeuePlan};
use store::shard::batch_submission::{self as submission_record, SubmissionRecord};
use store::shard::manifest;
use store::shard::provider::{self, ProviderPauseRow};
use tokio::sync::watch;

use crate::account_states::AccountStates;
use crate::batch_tasks::BatchTasks;
use crate::claimed_batch::ClaimedBatch;
use crate::failpoint;
use crate::lane_cache::LaneCache;
use crate::lease::Lease;
use crate::outcome_writer::{self, FinishedCargo};
use crate::providers::{ProviderAccess, Providers};
use crate::requeue::{self, RequeueTiming};
use crate::stage::{Stage, StepResult, Wakeup};

mod batch_submission;
mod job_creation;
mod mock;
mod pack;
mod reconcile;
mod reroute;

use batch_submission::JobTarget;

/// How long until a batch is checked again that may be at a provider no longer configured.
const UNSERVED_RETRY_DELAY: TimeDelta = TimeDelta::minutes(1);
/// The job name of a batch that is sent as realtime requests.
const REALTIME_JOB: &str = "realtime";

#[derive(Debug)]
pub struct DispatchStage {
    pub(crate) lease: Lease,
    pub(crate) lanes: LaneCache,
    pub(crate) submitter: Arc<Submitter>,
    pub(crate) tasks: BatchTasks,
    pub(crate) drain_timeout: Duration,
}

/// What the tasks of dispatch share.
#[derive(Debug)]
pub(crate) struct Submitter {
    pub(crate) shard: Arc<Shard>,
    pub(crate) accounts: Arc<AccountStates>,
    pub(crate) catalogue: watch::Receiver<Arc<Catalogue>>,
    pub(crate) providers: Arc<Providers>,
    /// Wakes collect and stream when a batch was submitted.
    pub(crate) wakeups: [Wakeup; 2],
    /// Holds the files that messages reference.
    pub(crate) objects: Option<ObjectStore>,
    /// The directory for jobs while they are packed.
    pub(crate) spool_dir: PathBuf,
}

/// A batch to submit now, and how.
struct PlannedSubmission {
    record: SubmissionRecord,
    route: SubmissionRoute,
}

enum SubmissionRoute {
    Mock,
    Job(JobTarget),
    Realtime,
}

impl Submitter {
    /// Decides how to submit the batch. Nothing when it was postponed, requeued or failed instead.
    async fn plan_submission(
        &self,
        claimed: &ClaimedBatch,
        paused: &HashMap<String, ProviderPauseRow>,
    ) -> Result<Option<PlannedSubmission>, store::Error> {
        let entry = submission_record::read(&self.shard, claimed.batch.id).await?;
        let access = self.providers.find(&claimed.lane.provider);
        let (Some(model), Some(access)) = (&claimed.model, access) else {
            self.handle_unserved(claimed, &entry).await?;
            return Ok(None);
        };
        if self
            .reroute_or_postpone(claimed, model, paused, &entry)
            .await?
        {
            return Ok(None);
        }
        let route = model.routes.find(&claimed.lane.provider, claimed.lane.via);
        let chosen = match (access, route) {
            (ProviderAccess::Mock(_), _) => SubmissionRoute::Mock,
            (
                ProviderAccess::Batch {
                    batch: jobs, share, ..
                },
                Some(route),
            ) if route.via == domain::route::InferenceMode::Batch => {
                if !self
                    .acquire_submission_slot(claimed, &**jobs, &entry)
                    .await?
                {
                    return Ok(None);
                }
                SubmissionRoute::Job(JobTarget {
                    provider: jobs.clone(),
                    share: *share,
                    upstream: route.upstream_model.clone(),
                    model: model.clone(),
                })
            }
            (ProviderAccess::Batch { .. } | ProviderAccess::Realtime { .. }, Some(_)) => {
                SubmissionRoute::Realtime
            }
            // The route is no longer in the catalogue: the cargo takes another route.
            (ProviderAccess::Batch { .. } | ProviderAccess::Realtime { .. }, None) => {
                self.requeue_all(claimed).await?;
                return Ok(None);
            }
        };
        Ok(Some(PlannedSubmission {
            record: entry,
            route: chosen,
        }))
    }

    async fn submit(
        &self,
        claimed: &ClaimedBatch,
        ready: &PlannedSubmission,
    ) -> Result<(), store::Error> {
        let (batch, claim, now) = (claimed.batch.id, claimed.claim, claimed.claimed_at);
        match &ready.route {
            SubmissionRoute::Mock => self.submit_to_mock(claimed).await?,
            SubmissionRoute::Job(target) => self.submit_job(claimed, target, &ready.record).await?,
            SubmissionRoute::Realtime => {
                batch::mark_running(&self.shard, batch, claim, REALTIME_JOB, now, now).await?;
            }
        }
        for bell in &self.wakeups {
            bell.wake();
        }
        Ok(())
    }

    /// Splits a batch that has killed its workers too often: one of its cargo is a poison pill.
    async fn isolate_poison_pill(&self, claimed: &ClaimedBatch) -> Result<(), store::Error> {
        let batch = &claimed.batch;
        tracing::warn!(batch.id = %batch.id, takeovers = batch.takeovers, "a batch killed its workers too often: it is split, or its last cargo fails");
        if batch.cargo.len() <= 1 {
            let failure = FailureCode::ProcessingInterrupted
                .with_message("processing was interrupted too often");
            return self.fail_batch(claimed, failure).await;
        }
        self.halve(claimed).await
    }

    async fn halve(&self, claimed: &ClaimedBatch) -> Result<(), store::Error> {
        let (batch, claim, now) = (&claimed.batch, claimed.claim, claimed.claimed_at);
        let half = || BatchId::new(now, batch.id.berth(), rand::rng().random());
        let mut halves = [half(), half()];
        // Both ids have the same time. Sorted, the halves keep their order.
        halves.sort_unstable();
        batch::split(&self.shard, batch, claim, halves, now).await
    }

    async fn fail_batch(
        &self,
        claimed: &ClaimedBatch,
        failure: CargoFailure,
    ) -> Result<(), store::Error> {
        let (batch, claim, now) = (&claimed.batch, claimed.claim, claimed.claimed_at);
        let heads = manifest::list_open(&self.shard, batch.id, &batch.cargo).await?;
        let failed = heads.into_iter();
        let failed = failed.map(|head| FinishedCargo::failed(head, failure.clone()));
        outcome_writer::store_outcomes(&self.shard, batch.id, claim, None, failed.collect(), now)
            .await?;
        batch::end(&self.shard, batch.id, claim, RequeuePlan::default(), now).await?;
        Ok(())
    }

    /// Handles a batch whose provider is not configured: requeues it for another one, or fails it.
    async fn handle_unserved(
        &self,
        claimed: &ClaimedBatch,
        entry: &SubmissionRecord,
    ) -> Result<(), store::Error> {
        // It may have become a job that this process cannot poll: do not send it elsewhere yet.
        if entry.sent_at.is_some() && !entry.is_abandoned(claimed.claimed_at) {
            tracing::error!(batch.id = %claimed.batch.id, provider = claimed.lane.provider, "a batch may be at a provider that is no longer configured: configure the provider again, or wait until the submission is abandoned");
            let at = claimed.claimed_at + UNSERVED_RETRY_DELAY;
            return batch::reschedule(&self.shard, claimed.batch.id, claimed.claim, at).await;
        }
        let routes = claimed.model.iter().flat_map(|model| model.routes.iter());
        let mut others = routes.filter(|route| self.providers.find(&route.provider).is_some());
        if others.next().is_some() {
            return self.requeue_all(claimed).await;
        }
        let failure = FailureCode::ModelUnavailable
            .with_message("the model is no longer served: load again with another model");
        self.fail_batch(claimed, failure).await
    }

    /// Requeues all cargo of a batch that no provider has.
    async fn requeue_all(&self, claimed: &ClaimedBatch) -> Result<(), store::Error> {
        let catalogue = self.catalogue.borrow().clone();
        let lane = (claimed.batch.lane, &*claimed.lane);
        let (providers, now) = (&self.providers, claimed.claimed_at);
        let onward = requeue::plan_requeue(
            &self.shard,
            &catalogue,
            lane,
            providers,
            RequeueTiming::Immediately,
            now,
        )
        .await?;
        batch::end(
            &self.shard,
            claimed.batch.id,
            claimed.claim,
            onward,
            claimed.claimed_at,
        )
        .await?;
        Ok(())
    }
}

impl DispatchStage {
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
        let submitter = &self.submitter;
        let batches = batch::claim_gathered(&submitter.shard, claim, &turns, now).await?;
        let begun = batches.len();
        let paused = provider::list_paused(&submitter.shard).await?;
        for batch in batches {
            let lane = self.lanes.find(&submitter.shard, batch.lane).await?;
            failpoint::point("dispatch.claimed", &lane.provider);
            let model = submitter.catalogue.borrow().find(&lane.model).cloned();
            let claimed = ClaimedBatch {
                _probe: submitter.accounts.begin_probe(&lane.provider),
                batch,
                lane,
                model,
                claim,
                claimed_at: now,
                lease_lost: lost.clone(),
                accounts: submitter.accounts.clone(),
            };
            // One after the other, so that the oldest batch gets the only submission slot. This
            // reads rows and calls no other machine.
            let ready = submitter.plan_submission(&claimed, &paused).await;
            let submitter = submitter.clone();
            self.tasks.spawn(claimed.batch_task(), async move {
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
impl Stage for DispatchStage {
    fn name(&self) -> &'static str {
        "dispatch"
    }

    async fn step(&mut self, now: Timestamp) -> Result<StepResult, store::Error> {
        let mut did = 0;
        loop {
            let begun = self.claim_batches(now).await?;
            did += self.tasks.join_all().await?;
            if begun == 0 {
                return Ok(StepResult::from_count(did));
            }
        }
    }

    async fn advance(&mut self, now: Timestamp) -> Result<StepResult, store::Error> {
        self.tasks.reap().await;
        Ok(StepResult::from_count(self.claim_batches(now).await?))
    }

    async fn drain(&mut self) {
        self.tasks.drain(self.drain_timeout).await;
    }

    async fn recover(&mut self) -> Result<(), store::Error> {
        self.tasks.recover(self.lease.claim()).await
    }
}
