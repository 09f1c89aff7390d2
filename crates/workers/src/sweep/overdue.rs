//! Finds waiting cargo past its deadline by ranges of ids, so that dead rows before the range are
//! not read. A range is read again until it is empty.

use chrono::{NaiveTime, TimeDelta};
use domain::cargo::CARGO_DEADLINE;
use domain::id;
use domain::time::Timestamp;
use store::Shard;
use store::shard::cargo_id_range::CargoIdRange;
use store::shard::partition;
use store::shard::waiting::{self, OverdueCargo};

use super::MAX_ROWS_PER_STATEMENT;

/// The widest range of one statement.
const RANGE_PER_STATEMENT: TimeDelta = TimeDelta::hours(6);
/// A commit may come this much later than the time in its rows.
const MAX_COMMIT_DELAY: TimeDelta = TimeDelta::minutes(1);
/// How often a search starts at the oldest day again.
const FULL_SEARCH_INTERVAL: TimeDelta = TimeDelta::hours(1);

#[derive(Debug, Default)]
pub(super) struct OverdueCursor {
    /// No cargo loaded before this is waiting.
    from: Option<Timestamp>,
    full_search_at: Option<Timestamp>,
    returned: Option<Timestamp>,
}

impl OverdueCursor {
    /// Cargo past its deadline.
    pub(super) async fn find_overdue(
        &mut self,
        shard: &Shard,
        now: Timestamp,
    ) -> Result<Vec<OverdueCargo>, store::Error> {
        let deadline = now - CARGO_DEADLINE;
        if self.full_search_at.is_none_or(|at| now >= at) {
            self.from = partition::list_days(shard)
                .await?
                .first()
                .map(|day| day.and_time(NaiveTime::MIN).and_utc());
            self.full_search_at = Some(now + FULL_SEARCH_INTERVAL);
        }
        // Cargo requeued lately is older than the ranges not read yet.
        let since = self.returned.unwrap_or(now) - MAX_COMMIT_DELAY;
        let before = id::first_id_at(deadline);
        let mut late =
            waiting::list_returned_overdue(shard, since, now, before, MAX_ROWS_PER_STATEMENT)
                .await?;
        if late.is_empty() {
            self.returned = Some(now);
            late = self.find_by_id(shard, deadline).await?;
        }
        Ok(late)
    }

    async fn find_by_id(
        &mut self,
        shard: &Shard,
        deadline: Timestamp,
    ) -> Result<Vec<OverdueCargo>, store::Error> {
        loop {
            let from = self
                .from
                .unwrap_or(deadline - MAX_COMMIT_DELAY)
                .min(deadline);
            let until = (from + RANGE_PER_STATEMENT).min(deadline);
            let ids = CargoIdRange::loaded_between(from, until);
            let late = waiting::list_overdue(shard, ids, MAX_ROWS_PER_STATEMENT).await?;
            if !late.is_empty() {
                self.from = Some(from);
                return Ok(late);
            }
            self.from = Some(until.min(deadline - MAX_COMMIT_DELAY).max(from));
            if until >= deadline {
                return Ok(late);
            }
        }
    }
}
