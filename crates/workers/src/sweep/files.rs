//! Expires and abandons files, and removes bytes that no row references.

use std::sync::Arc;

use chrono::TimeDelta;
use domain::id::FileId;
use domain::time::Timestamp;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use outbound::object_store::ObjectStoreFailure;
use store::Shard;
use store::shard::{file, object};

use crate::file_stage_deps::FileStageDeps;
use crate::removal_guard::{RemovalError, RemovalGuard};
use crate::stage::{Stage, StepResult};

/// How many rows of a kind one transaction changes.
const MAX_ROWS_PER_TRANSACTION: i64 = 1000;
/// How many objects are deleted at once.
const MAX_CONCURRENT_DELETES: usize = 8;
const SWEEP_INTERVAL: TimeDelta = TimeDelta::seconds(1);
/// How often the validating files are counted.
const VALIDATING_REPORT_INTERVAL: TimeDelta = TimeDelta::seconds(10);
/// How long to wait after a failure of the object store.
const STORE_RETRY_DELAY: TimeDelta = TimeDelta::seconds(10);

/// A separate stage, so that deadlines of cargo never wait for the object store.
#[derive(Debug)]
pub struct FileSweepStage {
    shard: Arc<Shard>,
    files: Option<FileStageDeps>,
    guard: RemovalGuard,
    due_at: Timestamp,
    /// Up to where staging was read in this pass.
    staging_cursor: Option<FileId>,
    store_retry_at: Timestamp,
    report_at: Timestamp,
}

impl FileSweepStage {
    pub(crate) fn new(shard: Arc<Shard>, files: Option<FileStageDeps>) -> Self {
        Self {
            guard: RemovalGuard::new(shard.clone()),
            shard,
            files,
            due_at: Timestamp::UNIX_EPOCH,
            staging_cursor: None,
            store_retry_at: Timestamp::UNIX_EPOCH,
            report_at: Timestamp::UNIX_EPOCH,
        }
    }

    async fn report_validating(&mut self, now: Timestamp) -> Result<(), store::Error> {
        if now < self.report_at {
            return Ok(());
        }
        self.report_at = now + VALIDATING_REPORT_INTERVAL;
        let (count, since) = file::count_validating(&self.shard).await?;
        let age = since.map_or(TimeDelta::zero(), |since| {
            (now - since).max(TimeDelta::zero())
        });
        let shard = self.shard.name.to_string();
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        metrics::gauge!("longshore_files_validating", "shard" => shard.clone()).set(count);
        metrics::gauge!("longshore_files_validating_oldest_age_seconds", "shard" => shard)
            .set(age.as_seconds_f64());
        Ok(())
    }

    /// Does what needs only the rows.
    async fn expire_and_abandon(
        &self,
        files: &FileStageDeps,
        now: Timestamp,
    ) -> Result<usize, store::Error> {
        let (expired, _gone) = file::expire(&self.shard, now, MAX_ROWS_PER_TRANSACTION).await?;
        let abandoned = file::fail_abandoned(
            &self.shard,
            now - files.abandon_after,
            MAX_ROWS_PER_TRANSACTION,
        )
        .await?;
        for id in &abandoned {
            metrics::counter!("longshore_files_failed_total", "reason" => "upload_abandoned")
                .increment(1);
            tracing::info!(file.id = %id, "an upload was abandoned by its caller");
        }
        Ok(expired + abandoned.len())
    }

    /// Removes nothing while removal is held: the rows may be older or newer than the bytes.
    async fn remove_bytes(
        &mut self,
        files: &FileStageDeps,
        now: Timestamp,
    ) -> Result<usize, RemovalError> {
        self.guard.ensure_allowed(&files.objects, now).await?;
        let gone = self.remove_unreferenced(files).await?;
        let staged = self.remove_staged(files).await?;
        Ok(gone + staged)
    }

    /// Removes the bytes first, then the row, so that a crash in between leaves the row.
    async fn remove_unreferenced(&self, files: &FileStageDeps) -> Result<usize, RemovalError> {
        let gone = object::list_gone(&self.shard, MAX_ROWS_PER_TRANSACTION).await?;
        let count = gone.len();
        let removed = stream::iter(gone).map(|id| async move {
            files
                .objects
                .delete(&files.objects.published_key(id))
                .await?;
            object::delete(&self.shard, id).await?;
            Ok::<_, RemovalError>(())
        });
        removed
            .buffer_unordered(MAX_CONCURRENT_DELETES)
            .try_collect::<()>()
            .await?;
        Ok(count)
    }

    async fn remove_staged(&mut self, files: &FileStageDeps) -> Result<usize, RemovalError> {
        let staged =
            file::list_staged(&self.shard, self.staging_cursor, MAX_ROWS_PER_TRANSACTION).await?;
        let count = staged.len();
        // A file that always fails must not block the files after it.
        self.staging_cursor = staged.last().map(|(id, _)| *id);
        let shard = &self.shard;
        let removed = stream::iter(staged).map(|(id, upload)| async move {
            files.clear_staging(id, upload.as_deref()).await?;
            file::mark_cleaned(shard, id).await?;
            Ok::<_, RemovalError>(())
        });
        removed
            .buffer_unordered(MAX_CONCURRENT_DELETES)
            .try_collect::<()>()
            .await?;
        Ok(count)
    }

    fn delay_after_failure(&mut self, failure: &ObjectStoreFailure, now: Timestamp) {
        let shard = &self.shard.name;
        tracing::warn!(shard = %shard, failure = %failure, "unreferenced bytes could not be removed and will be tried again");
        self.store_retry_at = now + STORE_RETRY_DELAY;
    }
}

#[async_trait::async_trait]
impl Stage for FileSweepStage {
    fn name(&self) -> &'static str {
        "sweep_files"
    }

    async fn step(&mut self, now: Timestamp) -> Result<StepResult, store::Error> {
        let Some(files) = self.files.clone().filter(|_| now >= self.due_at) else {
            return Ok(StepResult::Idle);
        };
        self.report_validating(now).await?;
        let mut swept = self.expire_and_abandon(&files, now).await?;
        if files.is_store_healthy() && now >= self.store_retry_at {
            match self.remove_bytes(&files, now).await {
                Ok(removed) => swept += removed,
                Err(RemovalError::Database(failure)) => return Err(failure),
                Err(RemovalError::Held) => {}
                Err(RemovalError::ObjectStore(failure)) => self.delay_after_failure(&failure, now),
            }
        }
        if swept > 0 {
            return Ok(StepResult::Processed(swept));
        }
        self.due_at = now + SWEEP_INTERVAL;
        Ok(StepResult::Idle)
    }
}
