//! Patrol: the listing of the store, held against the rows.
//!
//! Crashes, lost answers and replayed grants leave bytes that no row leads to. Every berth is
//! listed once in a while, by whichever node comes first, and `domain::patrol` decides. Two
//! nodes that patrol the same berth remove the same, once.

use std::sync::Arc;

use chrono::TimeDelta;
use domain::id::FileId;
use domain::time::Timestamp;
use store::Shard;
use store::shard::patrol;

use crate::files::Files;
use crate::stage::{Stage, Step};

mod round;

use round::{Broken, Round};

/// How often it is asked which berth is due.
const LOOK: TimeDelta = TimeDelta::seconds(1);
/// How often berths of new organizations are looked for.
const ENTER: TimeDelta = TimeDelta::minutes(1);

#[derive(Debug)]
pub struct Patrol {
    shard: Arc<Shard>,
    files: Option<Files>,
    look_at: Timestamp,
    enter_at: Timestamp,
    missing: Vec<FileId>,
}

impl Patrol {
    pub(crate) const fn new(shard: Arc<Shard>, files: Option<Files>) -> Self {
        Self {
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
        let Some(berth) = patrol::take(&self.shard, now, now + files.patrol).await? else {
            return Ok(Step::Idle);
        };
        let round = Round {
            shard: &self.shard,
            files,
            berth,
        };
        match round.walk().await {
            Ok(missing) => self.missing = missing,
            Err(Broken::Rows(failure)) => return Err(failure),
            Err(Broken::Store(failure)) => {
                tracing::warn!(shard = %self.shard.name, berth = berth.number(), failure = %failure, "a patrol was broken off: the next one goes all the way");
            }
        }
        Ok(Step::Did(1))
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
