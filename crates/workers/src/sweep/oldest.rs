//! The head of the waiting queue, found without walking over dead rows: each look starts at the
//! head that was found last and goes on by ranges of ids, which are ranges of time.

use chrono::TimeDelta;
use domain::cargo::DEADLINE;
use domain::id;
use domain::time::Timestamp;
use store::Shard;
use store::shard::waiting;

/// The widest range of one statement.
const RANGE: TimeDelta = TimeDelta::minutes(15);
const MAX_RANGES_PER_LOOK: usize = 8;
/// A commit may come this much later than the moment that its rows name.
const LATE_COMMIT: TimeDelta = TimeDelta::minutes(1);
/// Cargo that is past its deadline for longer than this has failed.
const OVERDUE_MARGIN: TimeDelta = TimeDelta::hours(1);

/// What a look found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Head {
    /// The oldest cargo was loaded then.
    Since(Timestamp),
    Empty,
    /// The look goes on with the next one.
    Unknown,
}

#[derive(Debug, Default)]
pub(super) struct HeadCursor {
    /// Nothing that was loaded before this waits.
    from: Option<Timestamp>,
    returned: Option<Timestamp>,
}

impl HeadCursor {
    pub(super) async fn look(
        &mut self,
        shard: &Shard,
        now: Timestamp,
    ) -> Result<Head, store::Error> {
        let first = now - DEADLINE - OVERDUE_MARGIN;
        let mut from = self.from.unwrap_or(first).max(first);
        let since = self.returned.unwrap_or(now) - LATE_COMMIT;
        if let Some(cargo) = waiting::oldest_returned(shard, since, now).await? {
            from = from.min(id::moment(cargo)).max(first);
        }
        self.returned = Some(now);
        for _ in 0..MAX_RANGES_PER_LOOK {
            let until = from + RANGE;
            let found = waiting::oldest(shard, id::floor(from), id::floor(until)).await?;
            if let Some(cargo) = found {
                let at = id::moment(cargo);
                self.from = Some(at);
                return Ok(Head::Since(at));
            }
            if until > now {
                self.from = Some(from.max(now - LATE_COMMIT));
                return Ok(Head::Empty);
            }
            from = until;
            self.from = Some(from);
        }
        Ok(Head::Unknown)
    }
}
