//! Prepares the submission of a batch: packs its job, records it in the journal, and handles
//! refusals.

use std::sync::Arc;

use chrono::TimeDelta;
use domain::batch::{MAX_TAKEOVERS, SubmissionDelay};
use domain::model::ModelKind;
use domain::reason_code::FailureCode;
use domain::retry::MAX_JOB_REFUSALS;
use domain::route::Route;
use domain::time::Timestamp;
use outbound::provider::batch_provider::{BatchProvider, ProviderFileId};
use outbound::provider::client::ProviderCallFailure;
use outbound::provider::spool::Spool;
use store::shard::batch_submission::{self, PackedRecord, SubmissionRecord};
use store::shard::manifest::{self, OpenCargo};
use store::shard::provider;

use super::pack::{BYTES_PER_TOKEN, PackFailure, PackedJob, Packer};
use super::{fail_batch, halve, isolate_poison_pill, requeue_all};
use crate::claimed_batch::ClaimedBatch;
use crate::providers::AccountShare;

/// How long until a failed submission is tried again, when the provider gave no time.
pub(super) const SUBMISSION_RETRY_DELAY: TimeDelta = TimeDelta::seconds(5);
/// How long until a submission is tried again when the account is full.
const FULL_RETRY_DELAY: TimeDelta = TimeDelta::seconds(30);
/// How long until a submission is tried again after a message about missing credit.
const NO_CREDIT_RETRY_DELAY: TimeDelta = TimeDelta::minutes(5);
/// While other jobs are enqueued, a job has at least the limit divided by this in tokens, or is a
/// whole batch.
const MIN_JOB_DIVISOR: u64 = 8;
/// How long a lowered token limit replaces the configured one.
const LOWERED_LIMIT_LIFETIME: TimeDelta = TimeDelta::minutes(15);

/// The provider and the route that a batch takes.
pub(super) struct JobTarget {
    pub(super) provider: Arc<dyn BatchProvider>,
    pub(super) share: AccountShare,
    pub(super) route: Box<Route>,
    pub(super) kind: ModelKind,
}

/// Whether the batch may be submitted now. Where jobs carry no label, an account submits one
/// batch at a time, and the others are postponed.
pub(super) async fn acquire_submission_slot(
    claimed: &ClaimedBatch,
    jobs: &dyn BatchProvider,
    record: &SubmissionRecord,
) -> Result<bool, store::Error> {
    let (batch, name) = (&claimed.batch, &claimed.lane.provider);
    let is_to_be_sent = record.sent_at.is_none() && batch.takeovers < MAX_TAKEOVERS;
    if jobs.supports_labels() || !is_to_be_sent {
        return Ok(true);
    }
    if !provider::acquire_submission_slot(claimed.shard(), name, batch.id).await? {
        let at = claimed.claimed_at + TimeDelta::seconds(1);
        claimed.reschedule(at).await?;
        return Ok(false);
    }
    claimed.failpoint("dispatch.turn");
    Ok(true)
}

/// The lines of a job that the journal has recorded.
struct JobToSend {
    spool: Spool,
    items: u64,
    /// The same lines, uploaded before.
    upload: Option<String>,
}

/// A batch that becomes a job, and what its journal says.
pub(super) struct JobSubmission<'a> {
    pub(super) claimed: &'a ClaimedBatch,
    pub(super) target: &'a JobTarget,
    pub(super) record: &'a SubmissionRecord,
}

impl JobSubmission<'_> {
    pub(super) async fn submit(&self) -> Result<(), store::Error> {
        let claimed = self.claimed;
        if self.record.sent_at.is_some() {
            return self.reconcile().await;
        }
        // Only a batch that no provider has may be split.
        if claimed.batch.takeovers >= MAX_TAKEOVERS {
            return isolate_poison_pill(claimed).await;
        }
        match self.pack_job().await {
            Ok(Some(job)) => {
                let upload = job.upload.map(ProviderFileId);
                self.upload_and_create(&job.spool, job.items, upload).await
            }
            Ok(None) => Ok(()),
            Err(PackFailure::Store(failure)) => Err(failure),
            Err(failure @ (PackFailure::Disk(_) | PackFailure::Media(_))) => {
                tracing::error!(batch.id = %claimed.batch.id, %failure, "a job could not be packed and will be tried again");
                let at = claimed.claimed_at + FULL_RETRY_DELAY;
                self.postpone(Some(SubmissionDelay::NotAssembled), at).await
            }
        }
    }

    /// Packs the lines and records them in the journal. Nothing when the account is full.
    async fn pack_job(&self) -> Result<Option<JobToSend>, PackFailure> {
        let claimed = self.claimed;
        let (shard, batch) = (claimed.shard(), &claimed.batch);
        let heads = claimed.list_to_send(claimed.claimed_at).await?;
        claimed.failpoint("dispatch.read");
        let (waiting, lowered) = provider::count_enqueued_tokens(
            shard,
            &claimed.lane.provider,
            claimed.claimed_at - LOWERED_LIMIT_LIFETIME,
        )
        .await?;
        let most = self.target.share.max_enqueued_tokens;
        let most = most.min(lowered.unwrap_or(most));
        // Reserve before the rebuild: the tokens are known.
        if let Some(packed) = &self.record.packed {
            if !self.reserve_tokens(most).await? {
                return Ok(None);
            }
            let rebuilt = self.packer().rebuild(batch, heads.clone(), packed).await?;
            if let Some(spool) = rebuilt {
                return Ok(Some(JobToSend {
                    spool,
                    items: batch.cargo.len() as u64,
                    upload: self.record.upload.clone(),
                }));
            }
        }
        let room = most.saturating_sub(waiting);
        if waiting > 0 && self.is_room_too_small(room, most).await? {
            self.postpone_until_not_full().await?;
            return Ok(None);
        }
        let Some(job) = self.pack_new_job(heads, room, most, waiting > 0).await? else {
            return Ok(None);
        };
        let has_room = self.reserve_tokens(most).await?;
        Ok(has_room.then_some(job))
    }

    /// Packs open cargo and records the job in the journal. Nothing when the job would be too small
    /// or has no cargo.
    async fn pack_new_job(
        &self,
        mut heads: Vec<OpenCargo>,
        room: u64,
        most: u64,
        has_others: bool,
    ) -> Result<Option<JobToSend>, PackFailure> {
        let claimed = self.claimed;
        let (shard, batch) = (claimed.shard(), &claimed.batch);
        loop {
            let open = heads.len();
            let PackedJob {
                spool,
                order,
                packed,
                unfit,
            } = self.packer().pack(batch, heads, room).await?;
            claimed.failpoint("dispatch.packed");
            // A small part of a batch is not worth a job: soon the account takes more.
            let is_crumb =
                order.len() + unfit.len() < open && packed.tokens < most / MIN_JOB_DIVISOR;
            if has_others && (packed.tokens > room || is_crumb) {
                self.postpone_until_not_full().await?;
                return Ok(None);
            }
            claimed.store_failures(unfit, claimed.claimed_at).await?;
            if order.is_empty() {
                requeue_all(claimed).await?;
                return Ok(None);
            }
            let items = order.len() as u64;
            let recording =
                batch_submission::record_packed(shard, batch.id, claimed.claim, &order, &packed);
            match recording.await? {
                PackedRecord::Recorded => {
                    claimed.failpoint("dispatch.journalled");
                    return Ok(Some(JobToSend {
                        spool,
                        items,
                        upload: None,
                    }));
                }
                // The batch is closed to cancelling now, so it is packed at most once more.
                PackedRecord::CargoCancelled => {
                    heads = claimed.list_to_send(claimed.claimed_at).await?;
                }
            }
        }
    }

    /// Whether a job of this batch would certainly be too small. The stored batch is not larger
    /// than the job.
    async fn is_room_too_small(&self, room: u64, most: u64) -> Result<bool, store::Error> {
        let claimed = self.claimed;
        if room == 0 {
            let until = claimed.claimed_at + FULL_RETRY_DELAY;
            let accounts = &claimed.deps.accounts;
            accounts.set_full(&claimed.lane.provider, until);
            return Ok(true);
        }
        if room >= most / MIN_JOB_DIVISOR {
            return Ok(false);
        }
        let bytes = manifest::sum_stored_bytes(claimed.shard(), &claimed.batch.cargo).await?;
        Ok(bytes / BYTES_PER_TOKEN > room)
    }

    /// Reserves the job's tokens in the account's enqueued limit. Postpones the batch if they do
    /// not fit.
    async fn reserve_tokens(&self, most: u64) -> Result<bool, store::Error> {
        let claimed = self.claimed;
        let (batch, name) = (claimed.batch.id, &claimed.lane.provider);
        let (claim, now) = (claimed.claim, claimed.claimed_at);
        let has_room = provider::enqueue(claimed.shard(), name, batch, claim, most, now).await?;
        if !has_room {
            self.postpone_until_not_full().await?;
        }
        Ok(has_room)
    }

    pub(super) fn packer(&self) -> Packer<'_> {
        let (deps, target) = (&self.claimed.deps, self.target);
        Packer {
            shard: &deps.shard,
            spool_dir: &deps.spool_dir,
            provider: &*target.provider,
            share: target.share,
            route: &target.route,
            objects: deps.objects.as_ref(),
        }
    }

    /// Handles a failure after which the provider certainly does not have the batch.
    pub(super) async fn handle_rejection(
        &self,
        failure: ProviderCallFailure,
    ) -> Result<(), store::Error> {
        let claimed = self.claimed;
        let (batch, now) = (&claimed.batch, claimed.shard().clock.now());
        tracing::warn!(batch.id = %batch.id, failure = failure.diagnosis(), "the provider did not take a batch");
        match failure {
            ProviderCallFailure::Unauthorized | ProviderCallFailure::OutOfCredit => {
                let reason = failure.to_string();
                claimed.pause_account(&reason, now).await?;
                // At once: the next worker sees the pause and whether another route is open.
                self.postpone(None, now).await
            }
            ProviderCallFailure::RateLimited { retry_after }
            | ProviderCallFailure::NoCapacity { retry_after }
            | ProviderCallFailure::Unavailable { retry_after, .. } => {
                let at = now + retry_delay(retry_after);
                self.postpone(Some(SubmissionDelay::ProviderRefused), at)
                    .await
            }
            // The provider may take other batches, so this one waits alone.
            ProviderCallFailure::UnconfirmedOutOfCredit => {
                let delay = Some(SubmissionDelay::ProviderRefused);
                self.postpone(delay, now + NO_CREDIT_RETRY_DELAY).await
            }
            ProviderCallFailure::TooLarge if batch.cargo.len() > 1 => halve(claimed).await,
            ProviderCallFailure::TooLarge => {
                let failure = FailureCode::RequestTooLarge
                    .with_message("the request is too large for the provider: load a smaller one");
                fail_batch(claimed, failure).await
            }
            ProviderCallFailure::Refused { message, .. } => self.handle_refusal(message).await,
            ProviderCallFailure::NotFound
            | ProviderCallFailure::Conflict
            | ProviderCallFailure::Indeterminate(_)
            | ProviderCallFailure::UnreadableResponse
            | ProviderCallFailure::Spool(_) => {
                let delay = Some(SubmissionDelay::NotAssembled);
                self.postpone(delay, now + SUBMISSION_RETRY_DELAY).await
            }
        }
    }

    /// Handles the refusal of a whole batch: another provider may take it.
    async fn handle_refusal(&self, message: String) -> Result<(), store::Error> {
        let heads = self.claimed.list_open().await?;
        if heads.iter().all(|head| head.attempt >= MAX_JOB_REFUSALS) {
            let failure = FailureCode::BatchRejected.with_message(message);
            return fail_batch(self.claimed, failure).await;
        }
        requeue_all(self.claimed).await
    }

    async fn postpone_until_not_full(&self) -> Result<(), store::Error> {
        let at = self.claimed.claimed_at + FULL_RETRY_DELAY;
        self.postpone(Some(SubmissionDelay::AccountFull), at).await
    }

    async fn postpone(
        &self,
        delay: Option<SubmissionDelay>,
        again_at: Timestamp,
    ) -> Result<(), store::Error> {
        let (claimed, batch) = (self.claimed, self.claimed.batch.id);
        let (shard, claim) = (claimed.shard(), claimed.claim);
        batch_submission::record_not_created(shard, batch, claim, delay, again_at).await?;
        provider::release_submission_slot(shard, &claimed.lane.provider, batch).await
    }
}

fn retry_delay(told: Option<std::time::Duration>) -> TimeDelta {
    let told = told.and_then(|it| TimeDelta::from_std(it).ok());
    told.map_or(SUBMISSION_RETRY_DELAY, |told| {
        told.clamp(SUBMISSION_RETRY_DELAY, TimeDelta::minutes(10))
    })
}
