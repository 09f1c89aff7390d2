//! Dispatch: submits batches to their providers. It records the intent before it calls the
//! provider.

use std::collections::HashMap;

use async_trait::async_trait;
use chrono::TimeDelta;
use domain::batch::MAX_TAKEOVERS;
use domain::id::BatchId;
use domain::reason_code::{CargoFailure, FailureCode};
use domain::route::InferenceMode;
use outbound::provider::mock::MockProvider;
use rand::RngExt as _;
use store::Shard;
use store::shard::batch;
use store::shard::batch_submission::{self as submission_record, SubmissionRecord};
use store::shard::provider::{self, ProviderPauseRow};

use crate::batch_end::BatchEnd;
use crate::batch_stage::{BatchStageKind, BatchWork, BatchWorker};
use crate::claimed_batch::ClaimedBatch;
use crate::providers::ProviderAccess;
use crate::requeue::RequeueTiming;
use crate::stage::Wakeup;

mod batch_submission;
mod job_creation;
mod pack;
mod reconciliation;
mod reroute;

use batch_submission::{JobSubmission, JobTarget, acquire_submission_slot};
use reroute::reroute_or_postpone;

/// How long until a batch is checked again that may be at a provider no longer configured.
const UNSERVED_RETRY_DELAY: TimeDelta = TimeDelta::minutes(1);
/// The job name of a batch that is sent as realtime requests.
const REALTIME_JOB: &str = "realtime";

#[derive(Debug)]
pub(crate) struct DispatchWorker {
    /// Wakes collect and stream when a batch was submitted.
    wakeups: [Wakeup; 2],
    /// The paused provider accounts, as of the last claim.
    paused: HashMap<String, ProviderPauseRow>,
}

impl DispatchWorker {
    pub(crate) fn new(wakeups: [Wakeup; 2]) -> Self {
        Self {
            wakeups,
            paused: HashMap::new(),
        }
    }
}

#[async_trait]
impl BatchWorker for DispatchWorker {
    fn kind(&self) -> BatchStageKind {
        BatchStageKind::Dispatch
    }

    async fn prepare(&mut self, shard: &Shard) -> Result<(), store::Error> {
        self.paused = provider::list_paused(shard).await?;
        Ok(())
    }

    async fn start(&mut self, claimed: ClaimedBatch) -> BatchWork {
        claimed.failpoint("dispatch.claimed");
        // Not in the task, so that the oldest batch gets the only submission slot.
        let plan = plan_submission(&claimed, &self.paused).await;
        let wakeups = self.wakeups.clone();
        Box::pin(async move {
            if let Some(plan) = plan? {
                submit(&claimed, &plan).await?;
                for wakeup in &wakeups {
                    wakeup.wake();
                }
            }
            Ok(1)
        })
    }
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

/// Decides how to submit the batch. Nothing when it was postponed, requeued or failed instead.
async fn plan_submission(
    claimed: &ClaimedBatch,
    paused: &HashMap<String, ProviderPauseRow>,
) -> Result<Option<PlannedSubmission>, store::Error> {
    let record = submission_record::read(claimed.shard(), claimed.batch.id).await?;
    let access = claimed.deps.providers.find(&claimed.lane.provider);
    let (Some(model), Some(access)) = (&claimed.model, access) else {
        handle_unserved(claimed, &record).await?;
        return Ok(None);
    };
    if reroute_or_postpone(claimed, model, paused, &record).await? {
        return Ok(None);
    }
    let route = model.routes.find(&claimed.lane.provider, claimed.lane.via);
    let route = match (access, route) {
        (ProviderAccess::Mock(_), _) => SubmissionRoute::Mock,
        (
            ProviderAccess::Batch {
                batch: jobs, share, ..
            },
            Some(route),
        ) if route.via == InferenceMode::Batch => {
            if !acquire_submission_slot(claimed, &**jobs, &record).await? {
                return Ok(None);
            }
            SubmissionRoute::Job(JobTarget {
                provider: jobs.clone(),
                share: *share,
                route: Box::new(route.clone()),
                kind: model.kind,
            })
        }
        (ProviderAccess::Batch { .. } | ProviderAccess::Realtime { .. }, Some(_)) => {
            SubmissionRoute::Realtime
        }
        // The route is no longer in the catalogue: the cargo takes another route.
        (ProviderAccess::Batch { .. } | ProviderAccess::Realtime { .. }, None) => {
            requeue_all(claimed).await?;
            return Ok(None);
        }
    };
    Ok(Some(PlannedSubmission { record, route }))
}

async fn submit(claimed: &ClaimedBatch, plan: &PlannedSubmission) -> Result<(), store::Error> {
    let (batch, now) = (&claimed.batch, claimed.claimed_at);
    let job = match &plan.route {
        SubmissionRoute::Job(target) => {
            let record = &plan.record;
            let submission = JobSubmission {
                claimed,
                target,
                record,
            };
            return submission.submit().await;
        }
        SubmissionRoute::Mock if batch.takeovers >= MAX_TAKEOVERS => {
            return isolate_poison_pill(claimed).await;
        }
        // The mock keeps no state, so a second submission does no harm.
        SubmissionRoute::Mock => MockProvider::job_id(batch.id).0,
        SubmissionRoute::Realtime => REALTIME_JOB.to_owned(),
    };
    batch::mark_running(claimed.shard(), batch.id, claimed.claim, &job, now, now).await
}

/// Splits a batch that has killed its workers too often: one of its cargo is a poison pill.
async fn isolate_poison_pill(claimed: &ClaimedBatch) -> Result<(), store::Error> {
    let batch = &claimed.batch;
    tracing::warn!(batch.id = %batch.id, takeovers = batch.takeovers, "a batch killed its workers too often: it is split, or its last cargo fails");
    if batch.cargo.len() <= 1 {
        let failure =
            FailureCode::ProcessingInterrupted.with_message("processing was interrupted too often");
        return fail_batch(claimed, failure).await;
    }
    halve(claimed).await
}

async fn halve(claimed: &ClaimedBatch) -> Result<(), store::Error> {
    let (batch, claim, now) = (&claimed.batch, claimed.claim, claimed.claimed_at);
    let half = || BatchId::new(now, batch.id.berth(), rand::rng().random());
    let mut halves = [half(), half()];
    // Both ids have the same time. Sorted, the halves keep their order.
    halves.sort_unstable();
    let trace = claimed.read_trace().await;
    batch::split(claimed.shard(), batch, claim, halves, now).await?;
    if let Some(trace) = &trace {
        claimed.trace_batch(trace, now);
    }
    Ok(())
}

/// Handles a batch whose provider is not configured: requeues it for another one, or fails it.
async fn handle_unserved(
    claimed: &ClaimedBatch,
    record: &SubmissionRecord,
) -> Result<(), store::Error> {
    // It may have become a job that this process cannot poll: do not send it elsewhere yet.
    if record.sent_at.is_some() && !record.is_abandoned(claimed.claimed_at) {
        tracing::error!(batch.id = %claimed.batch.id, provider = claimed.lane.provider, "a batch may be at a provider that is no longer configured: configure the provider again, or wait until the submission is abandoned");
        let at = claimed.claimed_at + UNSERVED_RETRY_DELAY;
        return claimed.reschedule(at).await;
    }
    let routes = claimed.model.iter().flat_map(|model| model.routes.iter());
    let providers = &claimed.deps.providers;
    let mut others = routes.filter(|route| providers.find(&route.provider).is_some());
    if others.next().is_some() {
        return requeue_all(claimed).await;
    }
    let failure = FailureCode::ModelUnavailable
        .with_message("the model is no longer served: load again with another model");
    fail_batch(claimed, failure).await
}

async fn fail_batch(claimed: &ClaimedBatch, failure: CargoFailure) -> Result<(), store::Error> {
    let end = BatchEnd::Fail(failure);
    claimed.end(end, claimed.claimed_at).await
}

/// Requeues all cargo of a batch that no provider has.
async fn requeue_all(claimed: &ClaimedBatch) -> Result<(), store::Error> {
    let end = BatchEnd::Requeue(RequeueTiming::Immediately);
    claimed.end(end, claimed.claimed_at).await
}
