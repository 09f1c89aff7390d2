//! Finds the oldest waiting cargo without reading over dead rows. Each search starts at the last
//! result and continues by ranges of ids, which are ranges of time.

use chrono::TimeDelta;
use domain::cargo::CARGO_DEADLINE;
use domain::id;
use domain::time::Timestamp;
use store::Shard;
use store::shard::waiting;

/// The widest range of one statement.
const RANGE_PER_STATEMENT: TimeDelta = TimeDelta::minutes(15);
const MAX_RANGES_PER_SEARCH: usize = 8;
/// A commit may come this much later than the time in its rows.
const MAX_COMMIT_DELAY: TimeDelta = TimeDelta::minutes(1);
/// Cargo past its deadline by more than this has already failed.
const OVERDUE_MARGIN: TimeDelta = TimeDelta::hours(1);

/// What a search found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OldestWaiting {
    /// The oldest cargo was loaded then.
    Since(Timestamp),
    Empty,
    /// The next search continues.
    Unknown,
}

#[derive(Debug, Default)]
pub(super) struct OldestWaitingCursor {
    /// No cargo loaded before this is waiting.
    from: Option<Timestamp>,
    returned: Option<Timestamp>,
}

impl OldestWaitingCursor {
    pub(super) async fn find_oldest(
        &mut self,
        shard: &Shard,
        now: Timestamp,
    ) -> Result<OldestWaiting, store::Error> {
        let first = now - CARGO_DEADLINE - OVERDUE_MARGIN;
        let mut from = self.from.unwrap_or(first).max(first);
        let since = self.returned.unwrap_or(now) - MAX_COMMIT_DELAY;
        if let Some(cargo) = waiting::find_oldest_returned(shard, since, now).await? {
            from = from.min(id::timestamp_of(cargo)).max(first);
        }
        self.returned = Some(now);
        for _ in 0..MAX_RANGES_PER_SEARCH {
            let until = from + RANGE_PER_STATEMENT;
            let found =
                waiting::find_oldest(shard, id::first_id_at(from), id::first_id_at(until)).await?;
            if let Some(cargo) = found {
                let at = id::timestamp_of(cargo);
                self.from = Some(at);
                return Ok(OldestWaiting::Since(at));
            }
            if until > now {
                self.from = Some(from.max(now - MAX_COMMIT_DELAY));
                return Ok(OldestWaiting::Empty);
            }
            from = until;
            self.from = Some(from);
        }
        Ok(OldestWaiting::Unknown)
    }
}
