//! Polls a job until it ends, then ingests its results.

use std::time::Duration;

use chrono::TimeDelta;
use domain::reason_code::FailureCode;
use domain::retry::MAX_JOB_REFUSALS;
use outbound::provider::ProviderJobId;
use outbound::provider::batch_provider::{BatchProvider, JobFailureReason, JobStatus};
use outbound::provider::client::ProviderCallFailure;
use store::shard::batch_submission::{self, SubmissionRecord};
use store::shard::provider;

use super::end_batch;
use crate::claimed_batch::ClaimedBatch;
use crate::outcome_writer::FinishedCargo;
use crate::providers::AccountShare;
use crate::requeue::RequeueTiming;

/// How long until a provider is polled again that did not answer.
const POLL_RETRY_DELAY: TimeDelta = TimeDelta::seconds(5);
/// The longest time between two polls of a job.
const MAX_POLL_INTERVAL: TimeDelta = TimeDelta::minutes(2);
/// A job that the provider does not know is lost after this many polls, over this many graces.
const MAX_MISSED_POLLS: u32 = 3;
const LOST_AFTER_GRACES: i32 = 10;

/// A poll of a job, and what the journal of its batch says.
pub(super) struct JobPoll<'a> {
    pub(super) claimed: &'a ClaimedBatch,
    pub(super) provider: &'a dyn BatchProvider,
    pub(super) share: AccountShare,
    pub(super) job: ProviderJobId,
    pub(super) record: SubmissionRecord,
}

impl JobPoll<'_> {
    pub(super) async fn poll(&self) -> Result<usize, store::Error> {
        let (claimed, record) = (self.claimed, &self.record);
        if record.cancel_wanted_at.is_some() && record.cancelled_at.is_none() {
            claimed.failpoint("collect.cancelling");
            let cancelling = self.provider.cancel(&self.job);
            let cancelled = claimed.call_provider(cancelling).await?;
            claimed.failpoint("collect.cancelled");
            match cancelled {
                Ok(())
                | Err(ProviderCallFailure::NotFound | ProviderCallFailure::Refused { .. }) => {
                    let (shard, now) = (claimed.shard(), claimed.claimed_at);
                    let (batch, claim) = (claimed.batch.id, claimed.claim);
                    batch_submission::record_cancelled(shard, batch, claim, now).await?;
                }
                Err(failure) => return self.handle_call_failure(&failure).await,
            }
        }
        let fetching = self.provider.fetch_status(&self.job);
        let sight = match claimed.call_provider(fetching).await? {
            Ok(sight) => sight,
            Err(ProviderCallFailure::NotFound) => JobStatus::Gone,
            Err(failure) => return self.handle_call_failure(&failure).await,
        };
        claimed.failpoint("collect.looked");
        match sight {
            JobStatus::Running {
                retry_after: hint, ..
            } => self.poll_later(hint).await,
            JobStatus::Gone => self.handle_missing_job().await,
            JobStatus::Failed { reason } => self.handle_failed_job(reason).await,
            JobStatus::Ended { results, .. } => self.ingest_results(&results).await,
        }
    }

    async fn poll_later(&self, hint: Option<Duration>) -> Result<usize, store::Error> {
        let (record, now) = (&self.record, self.claimed.claimed_at);
        if record.is_abandoned(now) {
            return self.abandon_job().await;
        }
        let shortest = self.share.grace / 6;
        let told = hint.and_then(|hint| TimeDelta::from_std(hint).ok());
        // The longer a job runs, the less often it is polled.
        let age = record.sent_at.map_or(TimeDelta::zero(), |sent| now - sent);
        let wait = told
            .unwrap_or(age / 20)
            .clamp(shortest, MAX_POLL_INTERVAL.max(shortest));
        self.claimed.reschedule(now + wait).await?;
        self.claimed.failpoint("collect.postponed");
        Ok(0)
    }

    async fn abandon_job(&self) -> Result<usize, store::Error> {
        tracing::error!(batch.id = %self.claimed.batch.id, job = self.job.0, "a job does not end although it was cancelled: its cargo is requeued and may be billed twice");
        metrics::counter!("longshore_submissions_possibly_duplicated_total").increment(1);
        end_batch(self.claimed, RequeueTiming::Immediately).await?;
        Ok(1)
    }

    /// Also when the provider has the job, and its results are gone.
    pub(super) async fn handle_missing_job(&self) -> Result<usize, store::Error> {
        let (claimed, record) = (self.claimed, &self.record);
        let (batch, now) = (claimed.batch.id, claimed.claimed_at);
        let long = self.share.grace * LOST_AFTER_GRACES;
        let is_lost = record.missed + 1 >= MAX_MISSED_POLLS
            && record.missed_at.is_some_and(|first| now - first >= long);
        if is_lost {
            tracing::error!(batch.id = %batch, job = self.job.0, "the provider has lost a job: its cargo is requeued");
            metrics::counter!("longshore_provider_jobs_lost_total").increment(1);
            end_batch(claimed, RequeueTiming::Immediately).await?;
            return Ok(1);
        }
        let (shard, at) = (claimed.shard(), now + long / 4);
        batch_submission::record_missing_job(shard, batch, claimed.claim, at, now).await?;
        Ok(0)
    }

    /// Handles a job that failed as a whole: the provider ran no item of it.
    async fn handle_failed_job(&self, reason: JobFailureReason) -> Result<usize, store::Error> {
        let claimed = self.claimed;
        let (shard, batch, now) = (claimed.shard(), &claimed.batch, claimed.claimed_at);
        tracing::warn!(batch.id = %batch.id, reason = reason.diagnosis(), "the provider did not run a job");
        let heads = claimed.list_open().await?;
        let timing = match reason {
            // The other items of a job with invalid lines need no backoff.
            JobFailureReason::InvalidLines(_) => RequeueTiming::Immediately,
            JobFailureReason::TokenLimit | JobFailureReason::Other(_) => {
                RequeueTiming::AfterBackoff
            }
        };
        let wrong: Vec<FinishedCargo> = match reason {
            JobFailureReason::TokenLimit => {
                let name = &claimed.lane.provider;
                let (enqueued, _) = provider::count_enqueued_tokens(shard, name, now).await?;
                provider::lower_enqueue_limit(shard, name, enqueued / 2, now).await?;
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
        claimed.store_outcomes(wrong, now).await?;
        end_batch(claimed, timing).await?;
        Ok(1)
    }

    pub(super) async fn handle_call_failure(
        &self,
        failure: &ProviderCallFailure,
    ) -> Result<usize, store::Error> {
        let (claimed, now) = (self.claimed, self.claimed.shard().clock.now());
        tracing::warn!(batch.id = %claimed.batch.id, job = self.job.0, failure = failure.diagnosis(), "a job could not be polled and will be tried again");
        if self.record.is_abandoned(now) {
            return self.abandon_job().await;
        }
        let again_at = match failure {
            ProviderCallFailure::Unauthorized | ProviderCallFailure::OutOfCredit => {
                claimed.pause_account(&failure.to_string(), now).await?
            }
            ProviderCallFailure::RateLimited { retry_after }
            | ProviderCallFailure::NoCapacity { retry_after }
            | ProviderCallFailure::Unavailable { retry_after, .. } => {
                let told = retry_after.and_then(|it| TimeDelta::from_std(it).ok());
                now + told.map_or(POLL_RETRY_DELAY, |told| {
                    told.clamp(POLL_RETRY_DELAY, MAX_POLL_INTERVAL)
                })
            }
            ProviderCallFailure::Refused { .. }
            | ProviderCallFailure::UnconfirmedOutOfCredit
            | ProviderCallFailure::Indeterminate(_)
            | ProviderCallFailure::NotFound
            | ProviderCallFailure::Conflict
            | ProviderCallFailure::TooLarge
            | ProviderCallFailure::UnreadableResponse
            | ProviderCallFailure::Spool(_) => now + POLL_RETRY_DELAY,
        };
        claimed.reschedule(again_at).await?;
        Ok(0)
    }
}
