//! Cargo that waits past its deadline, found by ranges of ids: dead rows before the range are not
//! read. A range is read again until it is empty.

use chrono::{NaiveTime, TimeDelta};
use domain::cargo::DEADLINE;
use domain::id;
use domain::id::CargoId;
use domain::time::Timestamp;
use store::Shard;
use store::shard::{partition, waiting};

use super::MAX_ROWS_PER_STATEMENT;

/// The widest range of one statement.
const RANGE: TimeDelta = TimeDelta::hours(6);
/// A commit may come this much later than the moment that its rows name.
const LATE_COMMIT: TimeDelta = TimeDelta::minutes(1);
/// How often a look starts at the oldest day again.
const FULL_LOOK_INTERVAL: TimeDelta = TimeDelta::hours(1);

#[derive(Debug, Default)]
pub(super) struct OverdueCursor {
    /// Nothing that was loaded before this waits.
    from: Option<Timestamp>,
    full_look_at: Option<Timestamp>,
    returned: Option<Timestamp>,
}

impl OverdueCursor {
    /// Cargo that missed its deadline, and in which attempt.
    pub(super) async fn look(
        &mut self,
        shard: &Shard,
        now: Timestamp,
    ) -> Result<Vec<(CargoId, u32)>, store::Error> {
        let deadline = now - DEADLINE;
        if self.full_look_at.is_none_or(|at| now >= at) {
            self.from = partition::days(shard)
                .await?
                .first()
                .map(|day| day.and_time(NaiveTime::MIN).and_utc());
            self.full_look_at = Some(now + FULL_LOOK_INTERVAL);
        }
        // What came back lately is older than the ranges that are still to be read.
        let since = self.returned.unwrap_or(now) - LATE_COMMIT;
        let before = id::floor(deadline);
        let window = (since, now);
        let mut late =
            waiting::returned_overdue(shard, window, before, MAX_ROWS_PER_STATEMENT).await?;
        if late.is_empty() {
            self.returned = Some(now);
            late = self.look_by_id(shard, deadline).await?;
        }
        Ok(late)
    }

    async fn look_by_id(
        &mut self,
        shard: &Shard,
        deadline: Timestamp,
    ) -> Result<Vec<(CargoId, u32)>, store::Error> {
        loop {
            let from = self.from.unwrap_or(deadline - LATE_COMMIT).min(deadline);
            let until = (from + RANGE).min(deadline);
            let ids = (id::floor(from), id::floor(until));
            let late = waiting::overdue(shard, ids, MAX_ROWS_PER_STATEMENT).await?;
            if !late.is_empty() {
                self.from = Some(from);
                return Ok(late);
            }
            self.from = Some(until.min(deadline - LATE_COMMIT).max(from));
            if until >= deadline {
                return Ok(late);
            }
        }
    }
}
