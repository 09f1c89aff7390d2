//! A look at a whole lane: when it is taken, and now and then after that.
//!
//! One step of the index for each organization, unless dead rows make that slow. Then the lane is
//! walked by ranges of ids, a few in each step, so that gathering goes on meanwhile.

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use domain::cargo::DEADLINE;
use domain::id;
use domain::lane::LaneId;
use domain::time::Timestamp;
use store::Shard;
use store::shard::waiting::{self, Waiting};

/// How often a whole lane is looked at. Arrivals and cargo that came back are found without it.
const INTERVAL: TimeDelta = TimeDelta::minutes(10);
/// How long the look by organization may take.
const TIMEOUT: Duration = Duration::from_millis(250);
/// How long a step may walk by ranges, and how long one statement should take.
const WALK_BUDGET: Duration = Duration::from_millis(50);
const STATEMENT_TARGET: Duration = Duration::from_millis(10);
const FIRST_RANGE: TimeDelta = TimeDelta::minutes(1);
const WIDEST_RANGE: TimeDelta = TimeDelta::hours(4);
const NARROWEST_RANGE: TimeDelta = TimeDelta::seconds(1);
/// Cargo that is past its deadline for longer than this has failed.
const OVERDUE_MARGIN: TimeDelta = TimeDelta::hours(1);

#[derive(Debug)]
pub(super) struct Look {
    due_at: Timestamp,
    walk: Option<Walk>,
}

#[derive(Debug, Clone, Copy)]
struct Walk {
    from: Timestamp,
    until: Timestamp,
    range: TimeDelta,
}

/// What a look found.
pub(super) enum Found {
    Everyone(Vec<Waiting>),
    /// The organizations of some ranges of ids.
    Some(Vec<Waiting>),
}

impl Default for Look {
    fn default() -> Self {
        Self {
            due_at: Timestamp::UNIX_EPOCH,
            walk: None,
        }
    }
}

impl Look {
    pub(super) async fn next(
        &mut self,
        shard: &Shard,
        lane: LaneId,
        now: Timestamp,
    ) -> Result<Found, store::Error> {
        if let Some(walk) = &mut self.walk {
            let found = walk.step(shard, lane).await?;
            if walk.from >= walk.until {
                self.walk = None;
            }
            return Ok(Found::Some(found));
        }
        if now < self.due_at {
            return Ok(Found::Some(Vec::new()));
        }
        self.due_at = now + INTERVAL;
        if let Some(everyone) = waiting::organizations(shard, lane, TIMEOUT).await? {
            return Ok(Found::Everyone(everyone));
        }
        tracing::warn!(shard = %shard.name, lane = lane.0, "Dead rows slow down gathering: an old transaction is open; see: longshored doctor");
        self.walk = Some(Walk {
            from: now - DEADLINE - OVERDUE_MARGIN,
            until: now,
            range: FIRST_RANGE,
        });
        Ok(Found::Some(Vec::new()))
    }
}

impl Walk {
    async fn step(&mut self, shard: &Shard, lane: LaneId) -> Result<Vec<Waiting>, store::Error> {
        let (began, mut found) = (Instant::now(), Vec::new());
        while self.from < self.until && began.elapsed() < WALK_BUDGET {
            let (asked, to) = (Instant::now(), self.from + self.range);
            found.extend(waiting::between(shard, lane, id::floor(self.from), id::floor(to)).await?);
            self.from = to;
            self.range = next_range(self.range, asked.elapsed());
        }
        Ok(found)
    }
}

fn next_range(range: TimeDelta, took: Duration) -> TimeDelta {
    if took < STATEMENT_TARGET / 2 {
        (range * 2).min(WIDEST_RANGE)
    } else if took > STATEMENT_TARGET * 2 {
        (range / 2).max(NARROWEST_RANGE)
    } else {
        range
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_follow_the_time_that_statements_take() {
        let minute = TimeDelta::minutes(1);
        assert_eq!(next_range(minute, Duration::from_millis(1)), minute * 2);
        assert_eq!(next_range(minute, Duration::from_millis(10)), minute);
        assert_eq!(next_range(minute, Duration::from_millis(50)), minute / 2);
        let widest = next_range(WIDEST_RANGE, Duration::ZERO);
        assert_eq!(widest, WIDEST_RANGE);
        let narrowest = next_range(NARROWEST_RANGE, Duration::from_secs(1));
        assert_eq!(narrowest, NARROWEST_RANGE);
    }
}
