//! Uploads the lines of a batch, creates its job and records it. It never creates a job twice
//! without recording that it may have.

use outbound::provider::ProviderJobId;
use outbound::provider::batch_provider::{
    JobOwner, ProviderFileId, ProviderJobRequest, SubmissionLabel,
};
use outbound::provider::client::ProviderCallFailure;
use outbound::provider::spool::Spool;
use store::shard::batch;
use store::shard::batch_submission;
use store::shard::provider;

use super::batch_submission::{JobSubmission, JobTarget};
use crate::failpoint;

/// How often recording a new job is tried before it is left to reconciliation.
const MAX_RECORD_ATTEMPTS: u32 = 3;

impl JobSubmission<'_> {
    /// Uploads the lines if the provider needs that and does not have them, records the intent, and
    /// creates the job.
    pub(super) async fn upload_and_create(
        &self,
        spool: &Spool,
        items: u64,
        mut upload: Option<ProviderFileId>,
    ) -> Result<(), store::Error> {
        let (claimed, target) = (self.claimed, self.target);
        let (shard, batch, claim) = (claimed.shard(), &claimed.batch, claimed.claim);
        let label = SubmissionLabel(batch.id.to_string());
        if upload.is_none() {
            claimed.failpoint("dispatch.uploading");
            upload = match claimed
                .call_provider(target.provider.upload(&label, spool))
                .await?
            {
                Ok(upload) => upload,
                Err(failure) => return self.handle_rejection(failure).await,
            };
            claimed.failpoint("dispatch.uploaded");
            if let Some(upload) = &upload {
                batch_submission::record_upload(shard, batch.id, claim, &upload.0).await?;
            }
            claimed.failpoint("dispatch.upload_noted");
        }
        let order = ProviderJobRequest {
            label,
            owner: JobOwner(self.record.owner),
            upstream: target.route.upstream_model.clone(),
            kind: target.kind,
            api: target.route.api,
            items,
            upload,
        };
        let now = shard.clock.now();
        let until = now + target.share.create_timeout;
        batch_submission::record_send_intent(shard, batch.id, claim, until, now).await?;
        claimed.failpoint("dispatch.sending");
        let creating = create_job(target, &order, spool);
        let creating = failpoint::during("dispatch.sent", &claimed.lane.provider, creating);
        let created = claimed.call_provider(creating).await;
        claimed.failpoint("dispatch.answered");
        let created = created.inspect_err(|_| {
            // The lease was lost: the next worker reconciles the submission.
            metrics::counter!("longshore_submissions_indeterminate_total").increment(1);
        })?;
        match created {
            Ok(job) => self.record_job(&job).await,
            Err(ProviderCallFailure::Indeterminate(why)) => self.record_unknown(&why).await,
            Err(ProviderCallFailure::UnreadableResponse) => {
                self.record_unknown("the answer cannot be read").await
            }
            Err(failure) => self.handle_rejection(failure).await,
        }
    }

    /// Records the created job. Only this worker knows it, so a failed write is tried again:
    /// otherwise a job that the provider lists late would be created twice.
    async fn record_job(&self, job: &ProviderJobId) -> Result<(), store::Error> {
        let mut noted = self.mark_running(job).await;
        for _ in 1..MAX_RECORD_ATTEMPTS {
            if !noted.as_ref().is_err_and(store::Error::is_unavailable) {
                break;
            }
            noted = self.mark_running(job).await;
        }
        match noted {
            Err(store::Error::Fenced) => self.cancel_orphan(job).await,
            noted => noted,
        }
    }

    /// Records that the provider has the batch.
    pub(super) async fn mark_running(&self, job: &ProviderJobId) -> Result<(), store::Error> {
        let claimed = self.claimed;
        let (shard, batch) = (claimed.shard(), claimed.batch.id);
        let now = shard.clock.now();
        let at = now + self.target.share.grace / 6;
        batch::mark_running(shard, batch, claimed.claim, &job.0, at, now).await?;
        claimed.failpoint("dispatch.running");
        provider::end_automatic_pause(shard, &claimed.lane.provider).await?;
        provider::release_submission_slot(shard, &claimed.lane.provider, batch).await
    }

    /// Records that the provider may have the batch, so that the next step reconciles it.
    async fn record_unknown(&self, why: &str) -> Result<(), store::Error> {
        let (shard, batch) = (self.claimed.shard(), self.claimed.batch.id);
        tracing::warn!(batch.id = %batch, why, "the result of a submission is unknown: it will be reconciled");
        metrics::counter!("longshore_submissions_indeterminate_total").increment(1);
        let now = shard.clock.now();
        let at = now + self.target.share.grace / 6;
        batch_submission::record_unanswered(shard, batch, self.claimed.claim, at, now).await
    }

    /// Cancels a job that was created after the claim was lost, unless the worker that has the
    /// batch now has already found it.
    async fn cancel_orphan(&self, job: &ProviderJobId) -> Result<(), store::Error> {
        let batch = self.claimed.batch.id;
        if batch::find_job(self.claimed.shard(), batch).await?.as_ref() == Some(&job.0) {
            return Ok(());
        }
        metrics::counter!("longshore_submissions_orphaned_total").increment(1);
        let cancelled = self.target.provider.cancel(job).await;
        let failure = cancelled.err().map(|failure| failure.diagnosis());
        tracing::error!(batch.id = %batch, job = job.0, failure, "a job was created after the claim on its batch was lost: the job is cancelled");
        Err(store::Error::Fenced)
    }
}

/// Creates the job. The result of a call that times out is unknown.
async fn create_job(
    target: &JobTarget,
    order: &ProviderJobRequest,
    spool: &Spool,
) -> Result<ProviderJobId, ProviderCallFailure> {
    let within = target.share.create_timeout.to_std().unwrap_or_default();
    let creating = tokio::time::timeout(within, target.provider.create_job(order, spool));
    let no_answer = || {
        Err(ProviderCallFailure::Indeterminate(
            "no answer in time".to_owned(),
        ))
    };
    creating.await.unwrap_or_else(|_| no_answer())
}
