//! Folding of counts, from a remembered position.
//!
//! A row may be committed after rows with larger ids. So every look starts a little before the
//! newest id of the last look, and once a minute at the floor, up to which everything is folded.

use chrono::TimeDelta;
use domain::time::Timestamp;
use store::Shard;
use store::shard::fold::{self, Counts};

use super::MAX_ROWS_PER_STATEMENT;

/// How many ids before the newest one a look starts.
const OVERLAP: i64 = 1000;
/// How often a look starts at the floor.
const FLOOR_LOOK_INTERVAL: TimeDelta = TimeDelta::minutes(1);
/// No transaction that appends counts stays open for longer than this.
const LONGEST_TRANSACTION: TimeDelta = TimeDelta::minutes(10);
/// Statements in one look: a backlog must not keep sweep from its other parts.
const MAX_STATEMENTS_PER_LOOK: usize = 10;

#[derive(Debug)]
pub(super) struct FoldCursor {
    counts: Counts,
    floor: Option<i64>,
    after: i64,
    floor_look_at: Timestamp,
    /// An id that had been given to a row at that moment: the next floor.
    candidate: Option<(i64, Timestamp)>,
}

impl FoldCursor {
    pub(super) const fn new(counts: Counts) -> Self {
        Self {
            counts,
            floor: None,
            after: 0,
            floor_look_at: Timestamp::UNIX_EPOCH,
            candidate: None,
        }
    }

    pub(super) async fn fold(
        &mut self,
        shard: &Shard,
        now: Timestamp,
    ) -> Result<u64, store::Error> {
        let floor = match self.floor {
            Some(floor) => floor,
            None => *self.floor.insert(fold::floor(shard, self.counts).await?),
        };
        let from_floor = now >= self.floor_look_at;
        if from_floor {
            self.after = floor;
            self.floor_look_at = now + FLOOR_LOOK_INTERVAL;
        }
        let newest = fold::newest(shard, self.counts).await?;
        let (mut folded, mut is_done) = (0, false);
        for _ in 0..MAX_STATEMENTS_PER_LOOK {
            let count = fold::fold(shard, self.counts, self.after, MAX_ROWS_PER_STATEMENT).await?;
            folded += count;
            is_done = count < MAX_ROWS_PER_STATEMENT.unsigned_abs();
            if is_done {
                break;
            }
        }
        if is_done {
            self.after = self.after.max(newest - OVERLAP);
        }
        if from_floor && is_done {
            self.raise_floor(shard, floor, newest, now).await?;
        }
        Ok(folded)
    }

    /// Rows of transactions that were open when the candidate was taken have been seen since.
    async fn raise_floor(
        &mut self,
        shard: &Shard,
        floor: i64,
        newest: i64,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        match self.candidate {
            Some((_, since)) if now - since < LONGEST_TRANSACTION => return Ok(()),
            Some((id, _)) if id > floor => {
                if fold::has_rows(shard, self.counts, floor, id).await? {
                    return Ok(());
                }
                fold::raise_floor(shard, self.counts, id).await?;
                self.floor = Some(id);
            }
            Some(_) | None => {}
        }
        self.candidate = Some((newest, now));
        Ok(())
    }
}
