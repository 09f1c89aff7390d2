//! Reconciles a submission whose result is unknown: searches for its job at the provider, and
//! resubmits only when there is none.

use chrono::TimeDelta;
use domain::time::Timestamp;
use outbound::provider::ProviderJobId;
use outbound::provider::batch_provider::{
    JobCandidate, JobSearch, ProviderFileId, SubmissionLabel,
};
use outbound::provider::client::ProviderCallFailure;
use store::shard::batch;
use store::shard::batch_submission::{self, SubmissionRecord};
use store::shard::manifest;
use store::shard::provider;

use super::Submitter;
use super::batch_submission::{JobTarget, SUBMISSION_RETRY_DELAY};
use super::pack::PackFailure;
use crate::account_pause::pause_account;
use crate::claimed_batch::ClaimedBatch;
use crate::failpoint;
use crate::providers::AccountShare;

/// How much a provider's clock may differ from the local one.
const MAX_CLOCK_SKEW: TimeDelta = TimeDelta::minutes(5);

/// What the search for a job found.
enum ReconcileResult {
    Found {
        job: ProviderJobId,
        others: Vec<ProviderJobId>,
    },
    NotFound,
    /// More than one job fits, and none carries the label.
    Ambiguous,
}

impl Submitter {
    pub(super) async fn reconcile(
        &self,
        claimed: &ClaimedBatch,
        target: &JobTarget,
        entry: &SubmissionRecord,
    ) -> Result<(), store::Error> {
        let (batch, claim, now) = (&claimed.batch, claimed.claim, claimed.claimed_at);
        let sent_at = entry.sent_at.unwrap_or(now);
        let grace = target.share.grace;
        let search = JobSearch {
            label: SubmissionLabel(batch.id.to_string()),
            upload: entry.upload.clone().map(ProviderFileId),
            items: batch.cargo.len() as u64,
            since: sent_at - MAX_CLOCK_SKEW,
        };
        failpoint::point("dispatch.looking", &claimed.lane.provider);
        let candidates = match claimed
            .call_provider(target.provider.find_jobs(&search))
            .await?
        {
            Ok(candidates) => candidates,
            Err(_) if entry.is_abandoned(now) => return self.reroute(claimed, true).await,
            Err(failure) => return self.retry_reconcile(claimed, failure).await,
        };
        failpoint::point("dispatch.looked", &claimed.lane.provider);
        match self.classify(candidates, &search).await? {
            ReconcileResult::Found { job, others } => {
                for other in others {
                    self.cancel_duplicate(claimed, target, &other).await;
                }
                self.mark_running(claimed, &job.0, target).await
            }
            ReconcileResult::Ambiguous if entry.is_abandoned(now) => {
                self.reroute(claimed, true).await
            }
            ReconcileResult::Ambiguous => {
                tracing::error!(batch.id = %batch.id, provider = claimed.lane.provider, "more than one job at the provider may be this batch: cancel the wrong ones at the provider, or wait until the submission is abandoned");
                metrics::counter!("longshore_submissions_ambiguous_total").increment(1);
                let at = now + grace;
                batch_submission::record_reconcile_miss(&self.shard, batch.id, claim, at, now).await
            }
            // No provider has it and its cancellation was requested: another route is better.
            ReconcileResult::NotFound
                if is_missing(entry, &target.share, now) && entry.cancel_wanted_at.is_some() =>
            {
                self.reroute(claimed, false).await
            }
            ReconcileResult::NotFound if is_missing(entry, &target.share, now) => {
                self.resubmit(claimed, target, entry).await
            }
            ReconcileResult::NotFound => {
                failpoint::point("dispatch.not_found", &claimed.lane.provider);
                let at = now + grace / 2;
                batch_submission::record_reconcile_miss(&self.shard, batch.id, claim, at, now).await
            }
        }
    }

    async fn classify(
        &self,
        candidates: Vec<JobCandidate>,
        search: &JobSearch,
    ) -> Result<ReconcileResult, store::Error> {
        let (mut exact, alike): (Vec<_>, Vec<_>) = candidates
            .into_iter()
            .partition(|candidate| candidate.is_exact);
        exact.sort_by_key(|candidate| candidate.created_at);
        let mut exact = exact.into_iter().map(|candidate| candidate.job);
        if let Some(job) = exact.next() {
            let others = exact.collect();
            return Ok(ReconcileResult::Found { job, others });
        }
        let names: Vec<String> = alike.iter().map(|it| it.job.0.clone()).collect();
        let owned = provider::find_known_jobs(&self.shard, &names).await?;
        let fits = |it: &JobCandidate| {
            !owned.contains(&it.job.0) && it.items.is_none_or(|items| items == search.items)
        };
        let mut free = alike.into_iter().filter(fits).map(|it| it.job);
        Ok(match (free.next(), free.next()) {
            (None, _) => ReconcileResult::NotFound,
            (Some(job), None) => ReconcileResult::Found {
                job,
                others: Vec::new(),
            },
            (Some(_), Some(_)) => ReconcileResult::Ambiguous,
        })
    }

    /// Cancels a second job under the same label, so that only one runs.
    async fn cancel_duplicate(
        &self,
        claimed: &ClaimedBatch,
        target: &JobTarget,
        job: &ProviderJobId,
    ) {
        metrics::counter!("longshore_submissions_duplicated_total").increment(1);
        let stopped = target.provider.cancel(job).await;
        tracing::error!(batch.id = %claimed.batch.id, job = job.0, ?stopped, "a batch was submitted twice: the second job is cancelled");
    }

    async fn retry_reconcile(
        &self,
        claimed: &ClaimedBatch,
        failure: ProviderCallFailure,
    ) -> Result<(), store::Error> {
        let (batch, now) = (&claimed.batch, claimed.claimed_at);
        tracing::warn!(batch.id = %batch.id, %failure, "a submission could not be reconciled and will be tried again");
        let mut again_at = now + SUBMISSION_RETRY_DELAY;
        if matches!(
            failure,
            ProviderCallFailure::Unauthorized | ProviderCallFailure::OutOfCredit
        ) {
            let (name, reason) = (&claimed.lane.provider, failure.to_string());
            again_at = pause_account(&self.shard, name, &reason, now).await?;
        }
        batch::reschedule(&self.shard, batch.id, claimed.claim, again_at).await
    }

    /// Resubmits a batch that the provider does not have, after it had enough time to list the job.
    async fn resubmit(
        &self,
        claimed: &ClaimedBatch,
        target: &JobTarget,
        entry: &SubmissionRecord,
    ) -> Result<(), store::Error> {
        let batch = &claimed.batch;
        metrics::counter!("longshore_submissions_resent_total").increment(1);
        let heads = manifest::list_open(&self.shard, batch.id, &batch.cargo).await?;
        let rebuilt = match &entry.packed {
            Some(packed) => self.packer(target).rebuild(batch, heads, packed).await,
            None => Ok(None),
        };
        failpoint::point("dispatch.rebuilt", &claimed.lane.provider);
        match rebuilt {
            Ok(Some(spool)) => {
                tracing::warn!(batch.id = %batch.id, "a submission did not reach the provider: it is resubmitted");
                let items = batch.cargo.len() as u64;
                self.upload_and_create(claimed, target, entry, &spool, items)
                    .await
            }
            // The bytes would differ: requeue the open cargo, under new attempt numbers.
            Ok(None) => {
                self.requeue_all(claimed).await?;
                provider::release_submission_slot(&self.shard, &claimed.lane.provider, batch.id)
                    .await
            }
            Err(PackFailure::Store(failure)) => Err(failure),
            Err(failure @ (PackFailure::Disk(_) | PackFailure::Media(_))) => {
                tracing::error!(batch.id = %batch.id, %failure, "a job could not be rebuilt and will be tried again");
                batch::reschedule(
                    &self.shard,
                    batch.id,
                    claimed.claim,
                    claimed.claimed_at + SUBMISSION_RETRY_DELAY,
                )
                .await
            }
        }
    }
}

/// Whether the provider does not have the job: it was missing in two searches, a grace apart, and
/// no call that creates it can still be running, not even in a worker that lost its claim.
fn is_missing(entry: &SubmissionRecord, share: &AccountShare, now: Timestamp) -> bool {
    let first = entry.looked_at.filter(|_| entry.looks >= 1);
    let by_timeout = entry.sent_at.map(|sent| sent + share.create_timeout);
    let is_over = entry
        .sending_until
        .or(by_timeout)
        .is_none_or(|until| until <= now);
    is_over && first.is_some_and(|first| now - first >= share.grace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_still_be_on_its_way_is_not_missing() {
        let share = AccountShare {
            max_items: 1,
            max_bytes: 1,
            max_tokens: 1,
            max_enqueued_tokens: 1,
            max_concurrent_requests: 1,
            linger: TimeDelta::zero(),
            grace: TimeDelta::minutes(1),
            create_timeout: TimeDelta::minutes(30),
        };
        let at = |minutes| Timestamp::UNIX_EPOCH + TimeDelta::minutes(minutes);
        let entry = |sending_until| SubmissionRecord {
            sent_at: Some(at(0)),
            sending_until,
            looks: 1,
            looked_at: Some(at(1)),
            ..SubmissionRecord::default()
        };
        // The call has ended; or it may still run; or a worker of an older version made it.
        for (until, minutes) in [(Some(at(0)), 2), (Some(at(30)), 30), (None, 30)] {
            assert!(!is_missing(&entry(until), &share, at(minutes - 1)));
            assert!(is_missing(&entry(until), &share, at(minutes)));
        }
    }
}
