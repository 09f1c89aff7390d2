//! A model of a writer's throughput: the time that a group costs, and each load in it.
//!
//! If the loads cost the time, a longer queue only means a longer wait. If the groups cost the
//! time, as with a distant database, larger groups store more in the same time. The queue must
//! then hold enough loads to form them.

use std::time::Duration;

/// A group should take this long, or twice its fixed cost if that is more. PostgreSQL counts the
/// time in which a large statement arrives as idle, and ends transactions that are idle too long.
const TARGET_GROUP_SECONDS: f64 = 1.0;
const SLOW_GROUP_SECONDS: f64 = 0.25;
/// The weight of all earlier groups is multiplied by this with each new group.
const HISTORY_DECAY: f64 = 0.9;
/// The same for the rate of answered loads, which must follow a change soon.
const RATE_DECAY: f64 = 0.5;
/// Allowed however slow the writer is.
const MIN_GROUP_LOADS: f64 = 16.0;
/// The next group may be this many times as large as the largest recent one. A cost measured
/// on small groups can be wrong for large ones.
const MAX_GROWTH: f64 = 4.0;
/// The same, while all groups had one size and so the cost of a load is unknown.
const PROBING_GROWTH: f64 = 1.5;
/// The relative variance of group sizes from which the two costs can be told apart.
const MIN_VARIANCE: f64 = 0.001;
/// Lower bounds of the measured times.
const MIN_LOAD_SECONDS: f64 = 0.000_01;
const MIN_GROUP_SECONDS: f64 = 0.001;

/// A group that was written.
#[derive(Debug, Clone, Copy)]
pub(super) struct WrittenGroup {
    pub(super) size: u32,
    /// How many of its loads were answered.
    pub(super) answered: u32,
    pub(super) took: Duration,
}

#[derive(Debug, Default)]
pub(super) struct ThroughputModel {
    /// Moving sums of answered loads, and of the seconds between the ends of groups.
    answered: f64,
    spacing: f64,
    /// The size of the largest recent group.
    largest_group: f64,
    /// Weighted sums over the last groups, for a linear regression of time over size.
    groups: f64,
    loads: f64,
    seconds: f64,
    loads_squared: f64,
    loads_times_seconds: f64,
}

impl ThroughputModel {
    /// Adds a group. `spacing`: the time since the last one ended, at most what this one took.
    pub(super) fn record_group(&mut self, group: WrittenGroup, spacing: Duration) {
        let WrittenGroup {
            size,
            answered,
            took,
        } = group;
        let seconds = took.as_secs_f64().max(MIN_GROUP_SECONDS);
        self.answered = self.answered * RATE_DECAY + f64::from(answered);
        self.spacing = self.spacing * RATE_DECAY + spacing.as_secs_f64();
        // A group that failed would have taken longer than this. How much longer is unknown.
        let (loads, seconds) = if answered > 0 {
            (f64::from(answered), seconds)
        } else {
            (f64::from(size.max(1)), seconds * 2.0)
        };
        self.largest_group = if answered > 0 {
            (self.largest_group * HISTORY_DECAY).max(loads)
        } else {
            loads / MAX_GROWTH / 2.0
        };
        self.groups = self.groups * HISTORY_DECAY + 1.0;
        self.loads = self.loads * HISTORY_DECAY + loads;
        self.seconds = self.seconds * HISTORY_DECAY + seconds;
        self.loads_squared = self.loads_squared * HISTORY_DECAY + loads * loads;
        self.loads_times_seconds = self.loads_times_seconds * HISTORY_DECAY + loads * seconds;
    }

    pub(super) fn max_group_loads(&self) -> usize {
        let max_loads = match self.estimate_costs() {
            Some((per_group, per_load)) => {
                let time = TARGET_GROUP_SECONDS.max(per_group * 2.0);
                let in_time = (time - per_group) / per_load;
                in_time.min(self.largest_group * MAX_GROWTH)
            }
            None => self.largest_group * PROBING_GROWTH,
        };
        round_up(max_loads.max(MIN_GROUP_LOADS))
    }

    /// How many loads are stored within `wait`, but at least two groups.
    pub(super) fn storable_within(&self, wait: Duration) -> usize {
        let in_time = round_up(self.loads_per_second() * wait.as_secs_f64());
        in_time.max(self.max_group_loads() * 2)
    }

    /// Whether a group of `size` loads takes a large part of the time that a session may be idle.
    pub(super) fn is_slow_group(&self, size: u32) -> bool {
        let seconds = match self.estimate_costs() {
            Some((per_group, per_load)) => per_group + per_load * f64::from(size),
            None => self.seconds / self.groups.max(1.0),
        };
        seconds > SLOW_GROUP_SECONDS
    }

    /// How long it takes to store this many loads.
    pub(super) fn time_for(&self, loads: usize) -> Duration {
        let loads = u32::try_from(loads).unwrap_or(u32::MAX);
        Duration::from_secs_f64(f64::from(loads) / self.loads_per_second().max(1.0))
    }

    fn loads_per_second(&self) -> f64 {
        self.answered / self.spacing.max(MIN_GROUP_SECONDS)
    }

    /// The seconds per group and per load, by a least-squares fit over the last groups. Nothing if
    /// the group sizes varied too little.
    fn estimate_costs(&self) -> Option<(f64, f64)> {
        let variance = self.groups * self.loads_squared - self.loads * self.loads;
        if variance <= MIN_VARIANCE * self.loads * self.loads {
            return None;
        }
        let covariance = self.groups * self.loads_times_seconds - self.loads * self.seconds;
        let per_load = (covariance / variance).max(MIN_LOAD_SECONDS);
        let per_group = (self.seconds - per_load * self.loads) / self.groups.max(1.0);
        Some((per_group.max(0.0), per_load))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "never negative, and a number too large saturates"
)]
const fn round_up(number: f64) -> usize {
    number.ceil() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_secs(3);

    /// Adds a group that no other overlapped.
    fn record(pace: &mut ThroughputModel, size: u32, answered: u32, took: Duration) {
        let group = WrittenGroup {
            size,
            answered,
            took,
        };
        pace.record_group(group, took);
    }

    /// Writes groups of the allowed size, up to 512, until the throughput is known.
    fn settled(time_of: impl Fn(u32) -> Duration) -> ThroughputModel {
        let mut pace = ThroughputModel::default();
        for _ in 0..30 {
            let size = u32::try_from(pace.max_group_loads().min(512)).unwrap();
            record(&mut pace, size, size, time_of(size));
        }
        pace
    }

    #[test]
    fn where_loads_cost_time_a_group_takes_a_second_and_the_wait_is_the_bound() {
        let pace = settled(|size| Duration::from_millis(20) * size);
        assert!(pace.is_slow_group(50) && !pace.is_slow_group(10));
        assert!(
            (40..=80).contains(&pace.max_group_loads()),
            "{}",
            pace.max_group_loads()
        );
        let storable = pace.storable_within(WAIT);
        assert!((145..=160).contains(&storable), "{storable}");
        assert_eq!(pace.time_for(100).as_secs(), 2);
    }

    #[test]
    fn where_groups_cost_time_they_become_as_large_as_they_may() {
        let pace = settled(|size| Duration::from_secs(1) + Duration::from_micros(10) * size);
        assert!(pace.max_group_loads() >= 512, "{}", pace.max_group_loads());
    }

    #[test]
    fn where_nothing_costs_time_groups_become_large_soon() {
        let quick = |size| Duration::from_millis(3) + Duration::from_micros(50) * size;
        assert!(settled(quick).max_group_loads() >= 512);
        let mut pace = ThroughputModel::default();
        for size in [1, 3, 2, 4, 1] {
            record(&mut pace, size, size, quick(size));
        }
        assert!((16..=64).contains(&pace.max_group_loads()));
    }

    #[test]
    fn groups_that_fail_become_small() {
        let mut pace = settled(|size| Duration::from_millis(2) * size);
        assert!(pace.max_group_loads() >= 256, "{}", pace.max_group_loads());
        for _ in 0..3 {
            let size = u32::try_from(pace.max_group_loads().min(512)).unwrap();
            record(&mut pace, size, 0, Duration::from_secs(5));
        }
        assert!(pace.max_group_loads() <= 64, "{}", pace.max_group_loads());
    }

    #[test]
    fn groups_that_overlap_add_up() {
        let mut pace = ThroughputModel::default();
        for _ in 0..20 {
            let (size, took) = (512, Duration::from_secs(1));
            let group = WrittenGroup {
                size,
                answered: size,
                took,
            };
            pace.record_group(group, took / 4);
        }
        let storable = pace.storable_within(WAIT);
        assert!((6100..=6200).contains(&storable), "{storable}");
    }

    #[test]
    fn a_writer_that_answers_nothing_has_no_throughput() {
        let mut pace = ThroughputModel::default();
        for _ in 0..20 {
            record(&mut pace, 64, 0, Duration::from_secs(15));
        }
        assert!(pace.storable_within(WAIT) <= 2 * round_up(MIN_GROUP_LOADS));
    }
}
