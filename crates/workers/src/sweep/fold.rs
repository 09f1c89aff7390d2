//! Folds counts, from a remembered position.
//!
//! A row may be committed after rows with larger ids. So every fold starts a little before the
//! newest id of the last fold, and once a minute at the floor, up to which everything is folded.

use chrono::TimeDelta;
use domain::time::Timestamp;
use store::Shard;
use store::shard::fold::{self, CountTable};

use super::MAX_ROWS_PER_STATEMENT;

/// How many ids before the newest one a fold starts.
const ID_OVERLAP: i64 = 1000;
/// How often a fold starts at the floor.
const FLOOR_FOLD_INTERVAL: TimeDelta = TimeDelta::minutes(1);
/// No transaction that appends counts stays open for longer than this.
const MAX_TRANSACTION_DURATION: TimeDelta = TimeDelta::minutes(10);
/// How many statements one fold runs: a backlog must not delay the other parts of sweep.
const MAX_STATEMENTS_PER_FOLD: usize = 10;

#[derive(Debug)]
pub(super) struct FoldCursor {
    table: CountTable,
    floor: Option<i64>,
    after: i64,
    floor_fold_at: Timestamp,
    /// The newest id at that time: the next floor.
    candidate: Option<(i64, Timestamp)>,
}

impl FoldCursor {
    pub(super) const fn new(counts: CountTable) -> Self {
        Self {
            table: counts,
            floor: None,
            after: 0,
            floor_fold_at: Timestamp::UNIX_EPOCH,
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
            None => *self
                .floor
                .insert(fold::read_floor(shard, self.table).await?),
        };
        let from_floor = now >= self.floor_fold_at;
        if from_floor {
            self.after = floor;
            self.floor_fold_at = now + FLOOR_FOLD_INTERVAL;
        }
        let newest = fold::read_newest_id(shard, self.table).await?;
        let (mut folded, mut is_done) = (0, false);
        for _ in 0..MAX_STATEMENTS_PER_FOLD {
            let count = fold::fold(shard, self.table, self.after, MAX_ROWS_PER_STATEMENT).await?;
            folded += count;
            is_done = count < MAX_ROWS_PER_STATEMENT.unsigned_abs();
            if is_done {
                break;
            }
        }
        if is_done {
            self.after = self.after.max(newest - ID_OVERLAP);
        }
        if from_floor && is_done {
            self.raise_floor(shard, floor, newest, now).await?;
        }
        Ok(folded)
    }

    /// Raises the floor to the candidate, once all transactions that were open when it was taken
    /// have ended.
    async fn raise_floor(
        &mut self,
        shard: &Shard,
        floor: i64,
        newest: i64,
        now: Timestamp,
    ) -> Result<(), store::Error> {
        match self.candidate {
            Some((_, since)) if now - since < MAX_TRANSACTION_DURATION => return Ok(()),
            Some((id, _)) if id > floor => {
                if fold::has_rows(shard, self.table, floor, id).await? {
                    return Ok(());
                }
                fold::raise_floor(shard, self.table, id).await?;
                self.floor = Some(id);
            }
            Some(_) | None => {}
        }
        self.candidate = Some((newest, now));
        Ok(())
    }
}
