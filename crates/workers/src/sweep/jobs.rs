//! Deletes jobs of ended batches at their providers, with uploaded inputs and result files.

use std::collections::HashSet;
use std::sync::Arc;

use chrono::TimeDelta;
use domain::time::Timestamp;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use outbound::provider::ProviderJobId;
use outbound::provider::batch_provider::{
    BatchProvider, JobStatus, ProviderFileId, ResultLocation,
};
use outbound::provider::client::ProviderCallFailure;
use parking_lot::Mutex;
use store::Shard;
use store::shard::provider_file::{self, ProviderFileRow};

use crate::providers::{ProviderAccess, Providers};
use crate::stage::{Stage, StepResult};

const MAX_ROWS_PER_STEP: i64 = 32;
const MAX_CONCURRENT_DELETES: usize = 4;
const SWEEP_INTERVAL: TimeDelta = TimeDelta::seconds(5);
/// When a deletion that failed is tried again.
const RETRY_DELAY: TimeDelta = TimeDelta::minutes(15);
/// They take two days. After that the files expire at the provider.
const MAX_ATTEMPTS: i32 = 192;

/// A separate stage, so that deadlines of cargo never wait for a provider.
#[derive(Debug)]
pub struct JobSweepStage {
    shard: Arc<Shard>,
    providers: Arc<Providers>,
    due_at: Timestamp,
}

/// The accounts that did not answer in this step. The others do not wait for further calls to them.
#[derive(Debug, Default)]
struct UnavailableAccounts(Mutex<HashSet<String>>);

impl JobSweepStage {
    pub(crate) fn new(shard: Arc<Shard>, providers: Arc<Providers>) -> Self {
        for (provider, access) in &providers.0 {
            if matches!(access, ProviderAccess::Batch { .. }) {
                count_deletions("deleted", provider, 0);
                count_deletions("left", provider, 0);
            }
        }
        Self {
            shard,
            providers,
            due_at: Timestamp::UNIX_EPOCH,
        }
    }

    async fn delete_all(&self, due: Vec<ProviderFileRow>) -> Result<(), store::Error> {
        let unavailable = UnavailableAccounts::default();
        stream::iter(due)
            .map(|row| self.delete(row, &unavailable))
            .buffer_unordered(MAX_CONCURRENT_DELETES)
            .try_collect::<()>()
            .await
    }

    async fn delete(
        &self,
        row: ProviderFileRow,
        unavailable: &UnavailableAccounts,
    ) -> Result<(), store::Error> {
        let deleted = match self.providers.find(&row.provider) {
            Some(ProviderAccess::Batch { .. }) if unavailable.0.lock().contains(&row.provider) => {
                Err(ProviderCallFailure::Unavailable {
                    why: "the account did not answer another call".to_owned(),
                    retry_after: None,
                })
            }
            Some(ProviderAccess::Batch { batch, .. }) => delete_job_data(&**batch, &row).await,
            // Another worker may have the account.
            Some(ProviderAccess::Mock(_) | ProviderAccess::Realtime { .. }) | None => {
                Err(ProviderCallFailure::Unavailable {
                    why: "the account is not configured in this worker".to_owned(),
                    retry_after: None,
                })
            }
        };
        let outcome = match deleted {
            Ok(()) => "deleted",
            Err(failure) => {
                if matches!(failure, ProviderCallFailure::Unavailable { .. }) {
                    unavailable.0.lock().insert(row.provider.clone());
                }
                let is_refused = matches!(failure, ProviderCallFailure::Refused { .. });
                if !is_refused && row.attempts < MAX_ATTEMPTS {
                    return Ok(());
                }
                tracing::warn!(shard = %self.shard.name, provider = row.provider, job = row.job, upload = row.upload, failure = failure.diagnosis(), "files of an ended batch could not be deleted at the provider: they expire there");
                "left"
            }
        };
        count_deletions(outcome, &row.provider, 1);
        provider_file::remove(&self.shard, row.id).await
    }
}

fn count_deletions(outcome: &'static str, provider: &str, count: u64) {
    metrics::counter!("longshore_provider_deletions_total", "outcome" => outcome, "provider" => provider.to_owned())
        .increment(count);
}

/// Deletes the input, the results and the job. What is gone counts as deleted.
async fn delete_job_data(
    provider: &dyn BatchProvider,
    row: &ProviderFileRow,
) -> Result<(), ProviderCallFailure> {
    let job = row.job.clone().map(ProviderJobId);
    let mut files: Vec<ProviderFileId> =
        row.upload.clone().map(ProviderFileId).into_iter().collect();
    if let Some(job) = &job {
        match provider.fetch_status(job).await? {
            // It was abandoned, and has not ended yet.
            JobStatus::Running { .. } => return Err(ProviderCallFailure::Conflict),
            JobStatus::Ended { results, .. } => {
                files.extend(results.into_iter().filter_map(|location| match location {
                    ResultLocation::File(name) => Some(ProviderFileId(name)),
                    ResultLocation::Job => None,
                }));
            }
            JobStatus::Failed { .. } | JobStatus::Gone => {}
        }
    }
    // A file that cannot be deleted keeps no other.
    let mut deleted = Ok(());
    for file in &files {
        deleted = deleted.and(provider.delete_file(file).await);
    }
    if let Some(job) = &job {
        deleted = deleted.and(provider.delete_job(job).await);
    }
    deleted
}

#[async_trait::async_trait]
impl Stage for JobSweepStage {
    fn name(&self) -> &'static str {
        "sweep_jobs"
    }

    async fn step(&mut self, now: Timestamp) -> Result<StepResult, store::Error> {
        if now < self.due_at {
            return Ok(StepResult::Idle);
        }
        let retry_at = now + RETRY_DELAY;
        let due = provider_file::take_due(&self.shard, MAX_ROWS_PER_STEP, retry_at, now).await?;
        let count = due.len();
        if count == 0 {
            self.due_at = now + SWEEP_INTERVAL;
        }
        self.delete_all(due).await?;
        Ok(StepResult::from_count(count))
    }
}
