//! The full discovery of a lane: when it is claimed, and now and then after that.
//!
//! It takes one index step per organization, unless dead rows make that slow. Then it reads the
//! lane by ranges of ids, a few in each step, so that gathering continues meanwhile.

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use domain::cargo::CARGO_DEADLINE;
use domain::id;
use domain::lane::LaneId;
use domain::time::Timestamp;
use store::Shard;
use store::shard::waiting::{self, WaitingOrganization};

/// How often a whole lane is read. Arrivals and requeued cargo are found without it.
const FULL_DISCOVERY_INTERVAL: TimeDelta = TimeDelta::minutes(10);
/// How long the read by organization may take.
const ORGANIZATIONS_TIMEOUT: Duration = Duration::from_millis(250);
/// How long a step may read by ranges, and how long one statement should take.
const WALK_BUDGET: Duration = Duration::from_millis(50);
const STATEMENT_TARGET: Duration = Duration::from_millis(10);
const INITIAL_RANGE: TimeDelta = TimeDelta::minutes(1);
const MAX_RANGE: TimeDelta = TimeDelta::hours(4);
const MIN_RANGE: TimeDelta = TimeDelta::seconds(1);
/// Cargo past its deadline by more than this has already failed.
const OVERDUE_MARGIN: TimeDelta = TimeDelta::hours(1);

#[derive(Debug)]
pub(super) struct LaneDiscovery {
    due_at: Timestamp,
    walk: Option<RangeWalk>,
}

#[derive(Debug, Clone, Copy)]
struct RangeWalk {
    from: Timestamp,
    until: Timestamp,
    range: TimeDelta,
}

/// The organizations that a discovery found.
pub(super) enum DiscoveredOrganizations {
    All(Vec<WaitingOrganization>),
    /// Those in some ranges of ids.
    Part(Vec<WaitingOrganization>),
}

impl Default for LaneDiscovery {
    fn default() -> Self {
        Self {
            due_at: Timestamp::UNIX_EPOCH,
            walk: None,
        }
    }
}

impl LaneDiscovery {
    pub(super) async fn discover_next(
        &mut self,
        shard: &Shard,
        lane: LaneId,
        now: Timestamp,
    ) -> Result<DiscoveredOrganizations, store::Error> {
        if let Some(walk) = &mut self.walk {
            let found = walk.step(shard, lane).await?;
            if walk.from >= walk.until {
                self.walk = None;
            }
            return Ok(DiscoveredOrganizations::Part(found));
        }
        if now < self.due_at {
            return Ok(DiscoveredOrganizations::Part(Vec::new()));
        }
        self.due_at = now + FULL_DISCOVERY_INTERVAL;
        if let Some(everyone) =
            waiting::list_organizations(shard, lane, ORGANIZATIONS_TIMEOUT).await?
        {
            return Ok(DiscoveredOrganizations::All(everyone));
        }
        tracing::warn!(shard = %shard.name, lane = lane.0, "dead rows slow down gathering because an old transaction is open: run longshored doctor");
        self.walk = Some(RangeWalk {
            from: now - CARGO_DEADLINE - OVERDUE_MARGIN,
            until: now,
            range: INITIAL_RANGE,
        });
        Ok(DiscoveredOrganizations::Part(Vec::new()))
    }
}

impl RangeWalk {
    async fn step(
        &mut self,
        shard: &Shard,
        lane: LaneId,
    ) -> Result<Vec<WaitingOrganization>, store::Error> {
        let (began, mut found) = (Instant::now(), Vec::new());
        while self.from < self.until && began.elapsed() < WALK_BUDGET {
            let (sent_at, to) = (Instant::now(), self.from + self.range);
            found.extend(
                waiting::list_between(shard, lane, id::first_id_at(self.from), id::first_id_at(to))
                    .await?,
            );
            self.from = to;
            self.range = next_range(self.range, sent_at.elapsed());
        }
        Ok(found)
    }
}

fn next_range(range: TimeDelta, took: Duration) -> TimeDelta {
    if took < STATEMENT_TARGET / 2 {
        (range * 2).min(MAX_RANGE)
    } else if took > STATEMENT_TARGET * 2 {
        (range / 2).max(MIN_RANGE)
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
        let widest = next_range(MAX_RANGE, Duration::ZERO);
        assert_eq!(widest, MAX_RANGE);
        let narrowest = next_range(MIN_RANGE, Duration::from_secs(1));
        assert_eq!(narrowest, MIN_RANGE);
    }
}
