//! Polls a job until it ends, then ingests its results.

use std::time::Duration;

use chrono::TimeDelta;
use domain::model::Model;
use domain::reason_code::FailureCode;
use domain::retry::MAX_JOB_REFUSALS;
use outbound::provider::ProviderJobId;
use outbound::provider::batch_provider::{BatchProvider, JobFailureReason, JobStatus};
use outbound::provider::client::ProviderCallFailure;
use store::shard::batch;
use store::shard::batch_submission::{self, SubmissionRecord};
use store::shard::manifest;
use store::shard::provider;

use super::Collector;
use crate::account_pause::pause_account;
use crate::claimed_batch::ClaimedBatch;
use crate::failpoint;
use crate::outcome_writer::{self, FinishedCargo};
use crate::providers::AccountShare;
use crate::requeue::RequeueTiming;

/// How long until a provider is polled again that did not answer.
const POLL_RETRY_DELAY: TimeDelta = TimeDelta::seconds(5);
/// The longest time between two polls of a job.
const MAX_POLL_INTERVAL: TimeDelta = TimeDelta::minutes(2);
/// A job that the provider does not know is lost after this many polls, over this many graces.
const MAX_MISSED_POLLS: u32 = 3;
const LOST_AFTER_GRACES: i32 = 10;

/// The job to poll, and its provider.
pub(super) struct JobSource<'a> {
    pub(super) provider: &'a dyn BatchProvider,
    pub(super) share: AccountShare,
    pub(super) model: &'a Model,
    pub(super) job: &'a ProviderJobId,
}

impl Collector {
    pub(super) async fn poll_job(
        &self,
        claimed: &ClaimedBatch,
        source: &JobSource<'_>,
    ) -> Result<usize, store::Error> {
        let entry = batch_submission::read(&self.shard, claimed.batch.id).await?;
        if entry.cancel_wanted_at.is_some() && entry.cancelled_at.is_none() {
            failpoint::point("collect.cancelling", &claimed.lane.provider);
            let cancelled = claimed
                .call_provider(source.provider.cancel(source.job))
                .await?;
            failpoint::point("collect.cancelled", &claimed.lane.provider);
            match cancelled {
                Ok(())
                | Err(ProviderCallFailure::NotFound | ProviderCallFailure::Refused { .. }) => {
                    batch_submission::record_cancelled(
                        &self.shard,
                        claimed.batch.id,
                        claimed.claim,
                        claimed.claimed_at,
                    )
                    .await?;
                }
                Err(failure) => {
                    return self
                        .handle_call_failure(claimed, source, &entry, &failure)
                        .await;
                }
            }
        }
        let sight = match claimed
            .call_provider(source.provider.fetch_status(source.job))
            .await?
        {
            Ok(sight) => sight,
            Err(ProviderCallFailure::NotFound) => JobStatus::Gone,
            Err(failure) => {
                return self
                    .handle_call_failure(claimed, source, &entry, &failure)
                    .await;
            }
        };
        failpoint::point("collect.looked", &claimed.lane.provider);
        match sight {
            JobStatus::Running {
                retry_after: hint, ..
            } => self.poll_later(claimed, source, &entry, hint).await,
            JobStatus::Gone => self.handle_missing_job(claimed, source, &entry).await,
            JobStatus::Failed { reason } => self.handle_failed_job(claimed, reason).await,
            JobStatus::Ended { results, .. } => {
                self.ingest_results(claimed, source, &entry, &results).await
            }
        }
    }

    async fn poll_later(
        &self,
        claimed: &ClaimedBatch,
        source: &JobSource<'_>,
        entry: &SubmissionRecord,
        hint: Option<Duration>,
    ) -> Result<usize, store::Error> {
        let (batch, now) = (claimed.batch.id, claimed.claimed_at);
        if entry.is_abandoned(now) {
            return self.abandon_job(claimed, source).await;
        }
        let shortest = source.share.grace / 6;
        let told = hint.and_then(|hint| TimeDelta::from_std(hint).ok());
        // The longer a job runs, the less often it is polled.
        let age = entry.sent_at.map_or(TimeDelta::zero(), |sent| now - sent);
        let wait = told
            .unwrap_or(age / 20)
            .clamp(shortest, MAX_POLL_INTERVAL.max(shortest));
        batch::reschedule(&self.shard, batch, claimed.claim, now + wait).await?;
        failpoint::point("collect.postponed", &claimed.lane.provider);
        Ok(0)
    }

    async fn abandon_job(
        &self,
        claimed: &ClaimedBatch,
        source: &JobSource<'_>,
    ) -> Result<usize, store::Error> {
        let batch = claimed.batch.id;
        tracing::error!(batch.id = %batch, job = source.job.0, "a job does not end although it was cancelled: its cargo is requeued and may be billed twice");
        metrics::counter!("longshore_submissions_possibly_duplicated_total").increment(1);
        self.end_batch(claimed, RequeueTiming::Immediately).await?;
        Ok(1)
    }

    async fn handle_missing_job(
        &self,
        claimed: &ClaimedBatch,
        source: &JobSource<'_>,
        entry: &SubmissionRecord,
    ) -> Result<usize, store::Error> {
        let (batch, now) = (claimed.batch.id, claimed.claimed_at);
        let long = source.share.grace * LOST_AFTER_GRACES;
        let is_lost = entry.missed + 1 >= MAX_MISSED_POLLS
            && entry.missed_at.is_some_and(|first| now - first >= long);
        if is_lost {
            tracing::error!(batch.id = %batch, job = source.job.0, "the provider has lost a job: its cargo is requeued");
            metrics::counter!("longshore_provider_jobs_lost_total").increment(1);
            self.end_batch(claimed, RequeueTiming::Immediately).await?;
            return Ok(1);
        }
        let at = now + long / 4;
        batch_submission::record_missing_job(&self.shard, batch, claimed.claim, at, now).await?;
        Ok(0)
    }

    /// Handles a job that failed as a whole: the provider ran no item of it.
    async fn handle_failed_job(
        &self,
        claimed: &ClaimedBatch,
        reason: JobFailureReason,
    ) -> Result<usize, store::Error> {
        let (batch, name, now) = (&claimed.batch, &claimed.lane.provider, claimed.claimed_at);
        tracing::warn!(batch.id = %batch.id, ?reason, "the provider did not run a job");
        let heads = manifest::list_open(&self.shard, batch.id, &batch.cargo).await?;
        let timing = match reason {
            // The other items of a job with invalid lines need no backoff.
            JobFailureReason::InvalidLines(_) => RequeueTiming::Immediately,
            JobFailureReason::TokenLimit | JobFailureReason::Other(_) => {
                RequeueTiming::AfterBackoff
            }
        };
        let wrong: Vec<FinishedCargo> = match reason {
            JobFailureReason::TokenLimit => {
                let (enqueued, _) = provider::count_enqueued_tokens(&self.shard, name, now).await?;
                provider::lower_enqueue_limit(&self.shard, name, enqueued / 2, now).await?;
                Vec::new()
            }
            JobFailureReason::InvalidLines(lines) => {
                let at = |line: u64| usize::try_from(line.checked_sub(1)?).ok();
                let cargo = |line| at(line).and_then(|at| batch.cargo.get(at).copied());
                let mut open: std::collections::HashMap<_, _> =
                    heads.into_iter().map(|head| (head.cargo, head)).collect();
                let failed = lines.into_iter().filter_map(|(line, message)| {
                    let head = open.remove(&cargo(line)?)?;
                    let failure = FailureCode::RequestRejected.with_message(message);
                    Some(FinishedCargo::failed(head, failure))
                });
                failed.collect()
            }
            JobFailureReason::Other(message) => {
                let exhausted = heads
                    .into_iter()
                    .filter(|head| head.attempt >= MAX_JOB_REFUSALS);
                let failure = FailureCode::BatchRejected.with_message(message);
                let failed = exhausted.map(|head| FinishedCargo::failed(head, failure.clone()));
                failed.collect()
            }
        };
        let slots = Some(&self.callback_slots);
        outcome_writer::store_outcomes(&self.shard, batch.id, claimed.claim, slots, wrong, now)
            .await?;
        self.end_batch(claimed, timing).await?;
        Ok(1)
    }

    pub(super) async fn handle_call_failure(
        &self,
        claimed: &ClaimedBatch,
        source: &JobSource<'_>,
        entry: &SubmissionRecord,
        failure: &ProviderCallFailure,
    ) -> Result<usize, store::Error> {
        let (batch, now) = (claimed.batch.id, self.shard.clock.now());
        tracing::warn!(batch.id = %batch, job = source.job.0, %failure, "a job could not be polled and will be tried again");
        if entry.is_abandoned(now) {
            return self.abandon_job(claimed, source).await;
        }
        let again_at = match failure {
            ProviderCallFailure::Unauthorized | ProviderCallFailure::OutOfCredit => {
                let reason = failure.to_string();
                pause_account(&self.shard, &claimed.lane.provider, &reason, now).await?
            }
            ProviderCallFailure::RateLimited { retry_after }
            | ProviderCallFailure::Unavailable { retry_after, .. } => {
                let told = retry_after.and_then(|it| TimeDelta::from_std(it).ok());
                now + told.map_or(POLL_RETRY_DELAY, |told| {
                    told.clamp(POLL_RETRY_DELAY, MAX_POLL_INTERVAL)
                })
            }
            ProviderCallFailure::Refused { .. }
            | ProviderCallFailure::Indeterminate(_)
            | ProviderCallFailure::NotFound
            | ProviderCallFailure::Conflict
            | ProviderCallFailure::TooLarge
            | ProviderCallFailure::UnreadableResponse
            | ProviderCallFailure::Spool(_) => now + POLL_RETRY_DELAY,
        };
        batch::reschedule(&self.shard, batch, claimed.claim, again_at).await?;
        Ok(0)
    }
}
