//! Patrol: the listing of the store, held against the rows.
//!
//! Crashes, lost answers and replayed grants leave bytes that no row leads to. Every berth is
//! listed once in a while, by whichever node comes first, and `domain::patrol` decides. Two
//! nodes that patrol the same berth remove the same, once. Nothing is removed while
//! [`RemovalGuard`] holds removal: after a restore the rows of good bytes may be missing.

use std::sync::Arc;

use chrono::TimeDelta;
use domain::id::FileId;
use domain::time::Timestamp;
use store::Shard;
use store::shard::patrol;

use crate::files::Files;
use crate::removal::{Broken, RemovalGuard};
use crate::stage::{Stage, Step};

mod round;

use round::Round;

/// How often it is asked which berth is due.
const LOOK: TimeDelta = TimeDelta::seconds(1);
/// How often berths of new organizations are looked for.
const ENTER: TimeDelta = TimeDelta::minutes(1);

#[derive(Debug)]
pub struct Patrol {
    shard: Arc<Shard>,
    files: Option<Files>,
    guard: RemovalGuard,
    look_at: Timestamp,
    enter_at: Timestamp,
    missing: Vec<FileId>,
}

impl Patrol {
    pub(crate) fn new(shard: Arc<Shard>, files: Option<Files>) -> Self {
        Self {
            guard: RemovalGuard::new(shard.clone()),
            shard,
            files,
            look_at: Timestamp::UNIX_EPOCH,
            enter_at: Timestamp::UNIX_EPOCH,
            missing: Vec::new(),
        }
    }

    /// The objects of the berth that this node walked last whose bytes are not there.
    pub fn missing(&self) -> &[FileId] {
        &self.missing
    }

    async fn next(&mut self, files: &Files, now: Timestamp) -> Result<Step, store::Error> {
        if now >= self.enter_at {
            patrol::enter(&self.shard, now).await?;
            self.enter_at = now + ENTER;
        }
        let walked = match self.walk_next(files, now).await {
            Ok(walked) => walked,
            Err(Broken::Rows(failure)) => return Err(failure),
            Err(Broken::Held) => false,
            Err(Broken::Store(failure)) => {
                tracing::warn!(shard = %self.shard.name, failure = %failure, "a patrol was broken off: the next one goes all the way");
                true
            }
        };
        Ok(if walked { Step::Did(1) } else { Step::Idle })
    }

    /// Whether a berth was due.
    async fn walk_next(&mut self, files: &Files, now: Timestamp) -> Result<bool, Broken> {
        // Also when no berth is due: rows are proven to be as new as the last marker.
        self.guard.allow(&files.objects, now).await?;
        let next = now + files.patrol;
        let Some(berth) = patrol::take(&self.shard, now, next).await? else {
            return Ok(false);
        };
        let round = Round {
            shard: &self.shard,
            guard: &self.guard,
            files,
            berth,
        };
        self.missing = round.walk().await?;
        Ok(true)
    }
}

#[async_trait::async_trait]
impl Stage for Patrol {
    fn name(&self) -> &'static str {
        "patrol"
    }

    async fn step(&mut self, now: Timestamp) -> Result<Step, store::Error> {
        let files = self.files.clone().filter(|_| now >= self.look_at);
        let Some(files) = files.filter(Files::store_is_well) else {
            return Ok(Step::Idle);
        };
        let step = self.next(&files, now).await?;
        if step == Step::Idle {
            self.look_at = now + LOOK;
        }
        Ok(step)
    }
}
