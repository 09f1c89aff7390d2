//! Prepares the submission of a batch: packs its job, records it in the journal, and handles
//! refusals.

use std::sync::Arc;

use chrono::TimeDelta;
use domain::batch::{MAX_TAKEOVERS, SubmissionDelay};
use domain::model::Model;
use domain::reason_code::FailureCode;
use domain::retry::MAX_JOB_REFUSALS;
use domain::time::Timestamp;
use outbound::provider::batch_provider::BatchProvider;
use outbound::provider::client::ProviderCallFailure;
use outbound::provider::spool::Spool;
use store::shard::batch;
use store::shard::batch_submission::{self, SubmissionRecord};
use store::shard::manifest;
use store::shard::provider;

use super::Submitter;
use super::pack::{BYTES_PER_TOKEN, PackFailure, PackedJob, Packer};
use crate::account_pause::pause_account;
use crate::claimed_batch::ClaimedBatch;
use crate::failpoint;
use crate::outcome_writer;
use crate::providers::AccountShare;

/// How long until a failed submission is tried again, when the provider gave no time.
pub(super) const SUBMISSION_RETRY_DELAY: TimeDelta = TimeDelta::seconds(5);
/// How long until a submission is tried again when the account is full.
const FULL_RETRY_DELAY: TimeDelta = TimeDelta::seconds(30);
/// While other jobs are enqueued, a job has at least the limit divided by this in tokens, or is a
/// whole batch.
const MIN_JOB_DIVISOR: u64 = 8;
/// How long a lowered token limit replaces the configured one.
const LOWERED_LIMIT_LIFETIME: TimeDelta = TimeDelta::minutes(15);

/// The provider and model that a batch is submitted to.
pub(super) struct JobTarget {
    pub(super) provider: Arc<dyn BatchProvider>,
    pub(super) share: AccountShare,
    pub(super) upstream: String,
    pub(super) model: Model,
}

impl Submitter {
    /// Whether the batch may be submitted now. Where jobs carry no label, an account submits one
    /// batch at a time, and the others are postponed.
    pub(super) async fn acquire_submission_slot(
        &self,
        claimed: &ClaimedBatch,
        jobs: &dyn BatchProvider,
        entry: &SubmissionRecord,
    ) -> Result<bool, store::Error> {
        let (batch, name) = (&claimed.batch, &claimed.lane.provider);
        let is_to_be_sent = entry.sent_at.is_none() && batch.takeovers < MAX_TAKEOVERS;
        if jobs.supports_labels() || !is_to_be_sent {
            return Ok(true);
        }
        if !provider::acquire_submission_slot(&self.shard, name, batch.id).await? {
            let at = claimed.claimed_at + TimeDelta::seconds(1);
            batch::reschedule(&self.shard, batch.id, claimed.claim, at).await?;
            return Ok(false);
        }
        failpoint::point("dispatch.turn", name);
        Ok(true)
    }

    pub(super) async fn submit_job(
        &self,
        claimed: &ClaimedBatch,
        target: &JobTarget,
        entry: &SubmissionRecord,
    ) -> Result<(), store::Error> {
        if entry.sent_at.is_some() {
            return self.reconcile(claimed, target, entry).await;
        }
        // Only a batch that no provider has may be split.
        if claimed.batch.takeovers >= MAX_TAKEOVERS {
            return self.isolate_poison_pill(claimed).await;
        }
        match self.pack_job(claimed, target, entry).await {
            Ok(Some((spool, items))) => {
                self.upload_and_create(claimed, target, entry, &spool, items)
                    .await
            }
            Ok(None) => Ok(()),
            Err(PackFailure::Store(failure)) => Err(failure),
            Err(failure @ (PackFailure::Disk(_) | PackFailure::Media(_))) => {
                tracing::error!(batch.id = %claimed.batch.id, %failure, "a job could not be packed and will be tried again");
                let at = claimed.claimed_at + FULL_RETRY_DELAY;
                self.postpone(claimed, Some(SubmissionDelay::NotAssembled), at)
                    .await
            }
        }
    }

    /// Packs the lines and records them in the journal. Nothing when the account is full.
    async fn pack_job(
        &self,
        claimed: &ClaimedBatch,
        target: &JobTarget,
        entry: &SubmissionRecord,
    ) -> Result<Option<(Spool, u64)>, PackFailure> {
        let (shard, batch) = (&self.shard, &claimed.batch);
        let packer = self.packer(target);
        let heads = manifest::list_open(shard, batch.id, &batch.cargo).await?;
        failpoint::point("dispatch.read", &claimed.lane.provider);
        let (waiting, lowered) = provider::count_enqueued_tokens(
            shard,
            &claimed.lane.provider,
            claimed.claimed_at - LOWERED_LIMIT_LIFETIME,
        )
        .await?;
        let most = target.share.max_enqueued_tokens;
        let most = most.min(lowered.unwrap_or(most));
        // Reserve before the rebuild: the tokens are known.
        if let Some(packed) = &entry.packed {
            if !self.reserve_tokens(claimed, most).await? {
                return Ok(None);
            }
            if let Some(spool) = packer.rebuild(batch, heads.clone(), packed).await? {
                return Ok(Some((spool, batch.cargo.len() as u64)));
            }
        }
        let room = most.saturating_sub(waiting);
        if waiting > 0 && self.is_room_too_small(claimed, room, most).await? {
            self.postpone(
                claimed,
                Some(SubmissionDelay::AccountFull),
                claimed.claimed_at + FULL_RETRY_DELAY,
            )
            .await?;
            return Ok(None);
        }
        let PackedJob {
            spool,
            order,
            packed,
            unfit,
        } = packer.pack(batch, heads, room).await?;
        failpoint::point("dispatch.packed", &claimed.lane.provider);
        // A small part of a batch is not worth a job: soon the account takes more.
        let is_crumb =
            order.len() + unfit.len() < batch.cargo.len() && packed.tokens < most / MIN_JOB_DIVISOR;
        if waiting > 0 && (packed.tokens > room || is_crumb) {
            self.postpone(
                claimed,
                Some(SubmissionDelay::AccountFull),
                claimed.claimed_at + FULL_RETRY_DELAY,
            )
            .await?;
            return Ok(None);
        }
        outcome_writer::store_outcomes(
            shard,
            batch.id,
            claimed.claim,
            None,
            unfit,
            claimed.claimed_at,
        )
        .await?;
        if order.is_empty() {
            self.requeue_all(claimed).await?;
            return Ok(None);
        }
        let items = order.len() as u64;
        batch_submission::record_packed(shard, batch.id, claimed.claim, &order, &packed).await?;
        failpoint::point("dispatch.journalled", &claimed.lane.provider);
        Ok(self
            .reserve_tokens(claimed, most)
            .await?
            .then_some((spool, items)))
    }

    /// Whether a job of this batch would certainly be too small. The stored batch is not larger
    /// than the job.
    async fn is_room_too_small(
        &self,
        claimed: &ClaimedBatch,
        room: u64,
        most: u64,
    ) -> Result<bool, store::Error> {
        if room == 0 {
            let until = claimed.claimed_at + FULL_RETRY_DELAY;
            claimed.accounts.set_full(&claimed.lane.provider, until);
            return Ok(true);
        }
        if room >= most / MIN_JOB_DIVISOR {
            return Ok(false);
        }
        let bytes = manifest::sum_stored_bytes(&self.shard, &claimed.batch.cargo).await?;
        Ok(bytes / BYTES_PER_TOKEN > room)
    }

    /// Reserves the job's tokens in the account's enqueued limit. Postpones the batch if they do
    /// not fit.
    async fn reserve_tokens(
        &self,
        claimed: &ClaimedBatch,
        most: u64,
    ) -> Result<bool, store::Error> {
        let (batch, name) = (claimed.batch.id, &claimed.lane.provider);
        let has_room = provider::enqueue(
            &self.shard,
            name,
            batch,
            claimed.claim,
            most,
            claimed.claimed_at,
        )
        .await?;
        if !has_room {
            self.postpone(
                claimed,
                Some(SubmissionDelay::AccountFull),
                claimed.claimed_at + FULL_RETRY_DELAY,
            )
            .await?;
        }
        Ok(has_room)
    }

    pub(super) fn packer<'a>(&'a self, target: &'a JobTarget) -> Packer<'a> {
        Packer {
            shard: &self.shard,
            spool_dir: &self.spool_dir,
            provider: &*target.provider,
            share: target.share,
            upstream: &target.upstream,
            objects: self.objects.as_ref(),
        }
    }

    /// Handles a failure after which the provider certainly does not have the batch.
    pub(super) async fn handle_rejection(
        &self,
        claimed: &ClaimedBatch,
        failure: ProviderCallFailure,
    ) -> Result<(), store::Error> {
        let (batch, now) = (&claimed.batch, self.shard.clock.now());
        tracing::warn!(batch.id = %batch.id, %failure, "the provider did not take a batch");
        match failure {
            ProviderCallFailure::Unauthorized | ProviderCallFailure::OutOfCredit => {
                let reason = failure.to_string();
                pause_account(&self.shard, &claimed.lane.provider, &reason, now).await?;
                // At once: the next worker sees the pause and whether another route is open.
                self.postpone(claimed, None, now).await
            }
            ProviderCallFailure::RateLimited { retry_after }
            | ProviderCallFailure::Unavailable { retry_after, .. } => {
                let at = now + retry_delay(retry_after);
                self.postpone(claimed, Some(SubmissionDelay::ProviderRefused), at)
                    .await
            }
            ProviderCallFailure::TooLarge if batch.cargo.len() > 1 => self.halve(claimed).await,
            ProviderCallFailure::TooLarge => {
                let failure = FailureCode::RequestTooLarge
                    .with_message("the request is too large for the provider: load a smaller one");
                self.fail_batch(claimed, failure).await
            }
            ProviderCallFailure::Refused { message, .. } => {
                self.handle_refusal(claimed, message).await
            }
            ProviderCallFailure::NotFound
            | ProviderCallFailure::Conflict
            | ProviderCallFailure::Indeterminate(_)
            | ProviderCallFailure::UnreadableResponse
            | ProviderCallFailure::Spool(_) => {
                let delay = Some(SubmissionDelay::NotAssembled);
                self.postpone(claimed, delay, now + SUBMISSION_RETRY_DELAY)
                    .await
            }
        }
    }

    /// Handles the refusal of a whole batch: another provider may take it.
    async fn handle_refusal(
        &self,
        claimed: &ClaimedBatch,
        message: String,
    ) -> Result<(), store::Error> {
        let heads =
            manifest::list_open(&self.shard, claimed.batch.id, &claimed.batch.cargo).await?;
        if heads.iter().all(|head| head.attempt >= MAX_JOB_REFUSALS) {
            let failure = FailureCode::BatchRejected.with_message(message);
            return self.fail_batch(claimed, failure).await;
        }
        self.requeue_all(claimed).await
    }

    pub(super) async fn postpone(
        &self,
        claimed: &ClaimedBatch,
        delay: Option<SubmissionDelay>,
        again_at: Timestamp,
    ) -> Result<(), store::Error> {
        let (shard, batch) = (&self.shard, claimed.batch.id);
        batch_submission::record_not_created(shard, batch, claimed.claim, delay, again_at).await?;
        provider::release_submission_slot(&self.shard, &claimed.lane.provider, claimed.batch.id)
            .await
    }
}

fn retry_delay(told: Option<std::time::Duration>) -> TimeDelta {
    let told = told.and_then(|it| TimeDelta::from_std(it).ok());
    told.map_or(SUBMISSION_RETRY_DELAY, |told| {
        told.clamp(SUBMISSION_RETRY_DELAY, TimeDelta::minutes(10))
    })
}
