//! Reconciles a submission whose result is unknown: searches for its job at the provider, and
//! resubmits only when there is none.

use chrono::TimeDelta;
use domain::time::Timestamp;
use outbound::provider::ProviderJobId;
use outbound::provider::batch_provider::{
    JobCandidate, JobSearch, ProviderFileId, SubmissionLabel,
};
use outbound::provider::client::ProviderCallFailure;
use store::shard::batch_submission::{self, SubmissionRecord};
use store::shard::provider;

use super::batch_submission::{JobSubmission, SUBMISSION_RETRY_DELAY};
use super::pack::PackFailure;
use super::reroute::reroute;
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

impl JobSubmission<'_> {
    pub(super) async fn reconcile(&self) -> Result<(), store::Error> {
        let (claimed, target, record) = (self.claimed, self.target, self.record);
        let (shard, batch, claim) = (claimed.shard(), &claimed.batch, claimed.claim);
        let (now, grace) = (claimed.claimed_at, target.share.grace);
        let sent_at = record.sent_at.unwrap_or(now);
        let search = JobSearch {
            label: SubmissionLabel(batch.id.to_string()),
            upload: record.upload.clone().map(ProviderFileId),
            items: batch.cargo.len() as u64,
            since: sent_at - MAX_CLOCK_SKEW,
        };
        claimed.failpoint("dispatch.looking");
        let candidates = match claimed
            .call_provider(target.provider.find_jobs(&search))
            .await?
        {
            Ok(candidates) => candidates,
            Err(_) if record.is_abandoned(now) => return reroute(claimed, true).await,
            Err(failure) => return self.retry_reconcile(failure).await,
        };
        claimed.failpoint("dispatch.looked");
        match self.classify(candidates, &search).await? {
            ReconcileResult::Found { job, others } => {
                for other in others {
                    self.cancel_duplicate(&other).await;
                }
                self.mark_running(&job).await
            }
            ReconcileResult::Ambiguous if record.is_abandoned(now) => reroute(claimed, true).await,
            ReconcileResult::Ambiguous => {
                tracing::error!(batch.id = %batch.id, provider = claimed.lane.provider, "more than one job at the provider may be this batch: cancel the wrong ones at the provider, or wait until the submission is abandoned");
                metrics::counter!("longshore_submissions_ambiguous_total").increment(1);
                let at = now + grace;
                batch_submission::record_reconcile_miss(shard, batch.id, claim, at, now).await
            }
            // No provider has it and its cancellation was requested: another route is better.
            ReconcileResult::NotFound
                if is_missing(record, &target.share, now) && record.cancel_wanted_at.is_some() =>
            {
                reroute(claimed, false).await
            }
            ReconcileResult::NotFound if is_missing(record, &target.share, now) => {
                self.resubmit().await
            }
            ReconcileResult::NotFound => {
                claimed.failpoint("dispatch.not_found");
                let at = now + grace / 2;
                batch_submission::record_reconcile_miss(shard, batch.id, claim, at, now).await
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
        let owned = provider::find_known_jobs(self.claimed.shard(), &names).await?;
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
    async fn cancel_duplicate(&self, job: &ProviderJobId) {
        metrics::counter!("longshore_submissions_duplicated_total").increment(1);
        let cancelled = self.target.provider.cancel(job).await;
        let failure = cancelled.err().map(|failure| failure.diagnosis());
        tracing::error!(batch.id = %self.claimed.batch.id, job = job.0, failure, "a batch was submitted twice: the second job is cancelled");
    }

    async fn retry_reconcile(&self, failure: ProviderCallFailure) -> Result<(), store::Error> {
        let (claimed, now) = (self.claimed, self.claimed.claimed_at);
        tracing::warn!(batch.id = %claimed.batch.id, failure = failure.diagnosis(), "a submission could not be reconciled and will be tried again");
        let mut again_at = now + SUBMISSION_RETRY_DELAY;
        if matches!(
            failure,
            ProviderCallFailure::Unauthorized | ProviderCallFailure::OutOfCredit
        ) {
            again_at = claimed.pause_account(&failure.to_string(), now).await?;
        }
        claimed.reschedule(again_at).await
    }

    /// Resubmits a batch that the provider does not have, after it had enough time to list the job.
    async fn resubmit(&self) -> Result<(), store::Error> {
        let (claimed, batch) = (self.claimed, &self.claimed.batch);
        metrics::counter!("longshore_submissions_resent_total").increment(1);
        let heads = claimed.list_open().await?;
        let rebuilt = match &self.record.packed {
            Some(packed) => self.packer().rebuild(batch, heads, packed).await,
            None => Ok(None),
        };
        claimed.failpoint("dispatch.rebuilt");
        match rebuilt {
            Ok(Some(spool)) => {
                tracing::warn!(batch.id = %batch.id, "a submission did not reach the provider: it is resubmitted");
                let items = batch.cargo.len() as u64;
                let upload = self.record.upload.clone().map(ProviderFileId);
                self.upload_and_create(&spool, items, upload).await
            }
            // The bytes would differ: requeue the open cargo, under new attempt numbers.
            Ok(None) => reroute(claimed, false).await,
            Err(PackFailure::Store(failure)) => Err(failure),
            Err(failure @ (PackFailure::Disk(_) | PackFailure::Media(_))) => {
                tracing::error!(batch.id = %batch.id, %failure, "a job could not be rebuilt and will be tried again");
                let at = claimed.claimed_at + SUBMISSION_RETRY_DELAY;
                claimed.reschedule(at).await
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
