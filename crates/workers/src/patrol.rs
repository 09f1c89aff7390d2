//! Patrol: compares the listing of the object store with the rows.
//!
//! Crashes, lost answers and replayed grants leave bytes that no row references. The first node
//! that finds a berth due lists it, and `domain::patrol` decides what to remove. Two nodes that
//! patrol one berth remove the same objects, each once. Nothing is removed while
//! [`RemovalGuard`] holds removal: after a restore the rows of good bytes may be missing.

use std::sync::Arc;

use chrono::TimeDelta;
use domain::id::FileId;
use domain::time::Timestamp;
use store::Shard;
use store::shard::patrol;

use crate::file_stage_deps::FileStageDeps;
use crate::removal_guard::{RemovalError, RemovalGuard};
use crate::stage::{Stage, StepResult};

mod berth_patrol;

use berth_patrol::BerthPatrol;

/// How often a node checks which berth is due.
const BERTH_CHECK_INTERVAL: TimeDelta = TimeDelta::seconds(1);
/// How often berths of new organizations are added.
const NEW_BERTHS_INTERVAL: TimeDelta = TimeDelta::minutes(1);

#[derive(Debug)]
pub struct PatrolStage {
    shard: Arc<Shard>,
    files: Option<FileStageDeps>,
    guard: RemovalGuard,
    check_at: Timestamp,
    new_berths_at: Timestamp,
    missing: Vec<FileId>,
}

impl PatrolStage {
    pub(crate) fn new(shard: Arc<Shard>, files: Option<FileStageDeps>) -> Self {
        Self {
            guard: RemovalGuard::new(shard.clone()),
            shard,
            files,
            check_at: Timestamp::UNIX_EPOCH,
            new_berths_at: Timestamp::UNIX_EPOCH,
            missing: Vec::new(),
        }
    }

    /// Objects without bytes, in the berth that this node patrolled last.
    pub fn missing(&self) -> &[FileId] {
        &self.missing
    }

    async fn run_next(
        &mut self,
        files: &FileStageDeps,
        now: Timestamp,
    ) -> Result<StepResult, store::Error> {
        if now >= self.new_berths_at {
            patrol::add_berths(&self.shard, now).await?;
            self.new_berths_at = now + NEW_BERTHS_INTERVAL;
        }
        let walked = match self.patrol_next_berth(files, now).await {
            Ok(walked) => walked,
            Err(RemovalError::Database(failure)) => return Err(failure),
            Err(RemovalError::Held) => false,
            Err(RemovalError::ObjectStore(failure)) => {
                tracing::warn!(shard = %self.shard.name, failure = %failure, "a patrol stopped because the object store failed: the next one starts again");
                true
            }
        };
        Ok(if walked {
            StepResult::Processed(1)
        } else {
            StepResult::Idle
        })
    }

    /// Whether a berth was due.
    async fn patrol_next_berth(
        &mut self,
        files: &FileStageDeps,
        now: Timestamp,
    ) -> Result<bool, RemovalError> {
        // Also when no berth is due: this checks that the rows are as new as the last marker.
        self.guard.ensure_allowed(&files.objects, now).await?;
        let next = now + files.patrol_interval;
        let Some(berth) = patrol::claim_due_berth(&self.shard, now, next).await? else {
            return Ok(false);
        };
        let round = BerthPatrol {
            shard: &self.shard,
            guard: &self.guard,
            files,
            berth,
        };
        self.missing = round.run().await?;
        Ok(true)
    }
}

#[async_trait::async_trait]
impl Stage for PatrolStage {
    fn name(&self) -> &'static str {
        "patrol"
    }

    async fn step(&mut self, now: Timestamp) -> Result<StepResult, store::Error> {
        let files = self.files.clone().filter(|_| now >= self.check_at);
        let Some(files) = files.filter(FileStageDeps::is_store_healthy) else {
            return Ok(StepResult::Idle);
        };
        let step = self.run_next(&files, now).await?;
        if step == StepResult::Idle {
            self.check_at = now + BERTH_CHECK_INTERVAL;
        }
        Ok(step)
    }
}
