//! Files that time has passed by, and bytes that nobody wants any more.

use std::sync::Arc;

use chrono::TimeDelta;
use domain::id::FileId;
use domain::time::Timestamp;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use outbound::objects::Failure;
use store::Shard;
use store::shard::{file, object};

use crate::files::Files;
use crate::removal::{Broken, RemovalGuard};
use crate::stage::{Stage, Step};

/// The most rows of a kind in one transaction.
const MOST: i64 = 1000;
/// The most calls to the store at once.
const AT_ONCE: usize = 8;
const OFTEN: TimeDelta = TimeDelta::seconds(1);
/// How often it is counted what waits for its verdict.
const SHOW: TimeDelta = TimeDelta::seconds(10);
/// After a failure of the store.
const LATER: TimeDelta = TimeDelta::seconds(10);

/// A stage of its own: deadlines of cargo never wait for the object store.
#[derive(Debug)]
pub struct SweepFiles {
    shard: Arc<Shard>,
    files: Option<Files>,
    guard: RemovalGuard,
    due_at: Timestamp,
    /// Up to where staging was looked at in this round.
    unstaged: Option<FileId>,
    store_at: Timestamp,
    show_at: Timestamp,
}

impl SweepFiles {
    pub(crate) fn new(shard: Arc<Shard>, files: Option<Files>) -> Self {
        Self {
            guard: RemovalGuard::new(shard.clone()),
            shard,
            files,
            due_at: Timestamp::UNIX_EPOCH,
            unstaged: None,
            store_at: Timestamp::UNIX_EPOCH,
            show_at: Timestamp::UNIX_EPOCH,
        }
    }

    async fn show(&mut self, now: Timestamp) -> Result<(), store::Error> {
        if now < self.show_at {
            return Ok(());
        }
        self.show_at = now + SHOW;
        let (count, since) = file::validating(&self.shard).await?;
        let age = since.map_or(TimeDelta::zero(), |since| {
            (now - since).max(TimeDelta::zero())
        });
        let shard = self.shard.name.to_string();
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        metrics::gauge!("files_validating", "shard" => shard.clone()).set(count);
        metrics::gauge!("files_validating_oldest_seconds", "shard" => shard)
            .set(age.as_seconds_f64());
        Ok(())
    }

    /// What needs the rows alone.
    async fn settle(&self, files: &Files, now: Timestamp) -> Result<usize, store::Error> {
        let (expired, _gone) = file::expire(&self.shard, now, MOST).await?;
        let abandoned = file::abandon(&self.shard, now - files.abandon, MOST).await?;
        for id in &abandoned {
            metrics::counter!("files_failed_total", "reason" => "upload_abandoned").increment(1);
            tracing::info!(file.id = %id, "{id} was abandoned by its caller");
        }
        Ok(expired + abandoned.len())
    }

    /// Nothing while removal is held: these rows may be from another moment than the bytes.
    async fn remove(&mut self, files: &Files, now: Timestamp) -> Result<usize, Broken> {
        self.guard.allow(&files.objects, now).await?;
        let gone = self.remove_gone(files).await?;
        let staged = self.remove_staged(files).await?;
        Ok(gone + staged)
    }

    /// The bytes first, then the row: whoever crashes between them leaves the row.
    async fn remove_gone(&self, files: &Files) -> Result<usize, Broken> {
        let gone = object::gone(&self.shard, MOST).await?;
        let count = gone.len();
        let removed = stream::iter(gone).map(|id| async move {
            files.objects.delete(&files.objects.published(id)).await?;
            object::forget(&self.shard, id).await?;
            Ok::<_, Broken>(())
        });
        removed
            .buffer_unordered(AT_ONCE)
            .try_collect::<()>()
            .await?;
        Ok(count)
    }

    async fn remove_staged(&mut self, files: &Files) -> Result<usize, Broken> {
        let staged = file::staged(&self.shard, self.unstaged, MOST).await?;
        let count = staged.len();
        // One that fails for ever must not keep those after it.
        self.unstaged = staged.last().map(|(id, _)| *id);
        let shard = &self.shard;
        let removed = stream::iter(staged).map(|(id, upload)| async move {
            files.unstage(id, upload.as_deref()).await?;
            file::cleaned(shard, id).await?;
            Ok::<_, Broken>(())
        });
        removed
            .buffer_unordered(AT_ONCE)
            .try_collect::<()>()
            .await?;
        Ok(count)
    }

    fn failed(&mut self, failure: &Failure, now: Timestamp) {
        let shard = &self.shard.name;
        tracing::warn!(shard = %shard, failure = %failure, "bytes that nobody wants were not removed and will be");
        self.store_at = now + LATER;
    }
}

#[async_trait::async_trait]
impl Stage for SweepFiles {
    fn name(&self) -> &'static str {
        "sweep_files"
    }

    async fn step(&mut self, now: Timestamp) -> Result<Step, store::Error> {
        let Some(files) = self.files.clone().filter(|_| now >= self.due_at) else {
            return Ok(Step::Idle);
        };
        self.show(now).await?;
        let mut swept = self.settle(&files, now).await?;
        if files.store_is_well() && now >= self.store_at {
            match self.remove(&files, now).await {
                Ok(removed) => swept += removed,
                Err(Broken::Rows(failure)) => return Err(failure),
                Err(Broken::Held) => {}
                Err(Broken::Store(failure)) => self.failed(&failure, now),
            }
        }
        if swept > 0 {
            return Ok(Step::Did(swept));
        }
        self.due_at = now + OFTEN;
        Ok(Step::Idle)
    }
}
