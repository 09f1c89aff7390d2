//! How fast a writer is: what a group costs it, and what each load in it costs.
//!
//! Where each load costs time, a longer queue only means a longer wait. Where each group
//! costs time, as with a distant database, larger groups store more in the same time, and
//! there must be enough loads in the queue to form them.

use std::time::Duration;

/// A group takes about so long, or twice its own cost where that is more. The time in which a
/// large statement arrives counts as idle for PostgreSQL, which ends what is idle in a transaction.
const GROUP_TIME: f64 = 1.0;
const LONG_GROUP: f64 = 0.25;
/// What is known of earlier groups is worth so much after each new one.
const KEPT: f64 = 0.9;
/// However slow the writer is, a group may have so many loads.
const MIN_GROUP: f64 = 16.0;
/// The next group may be so many times as large as those before it: a cost that was learned
/// from small groups can be far off for large ones.
const MAX_GROWTH: f64 = 4.0;
/// The same where groups of one size do not tell what larger ones would cost.
const PROBING_GROWTH: f64 = 1.5;
/// The variance of sizes, in parts of their square, from which costs can be told apart.
const MIN_VARIANCE: f64 = 0.001;
/// Nothing is quicker.
const MIN_LOAD_TIME: f64 = 0.000_01;
const MIN_GROUP_TIME: f64 = 0.001;

#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Loads that were answered in a second, lately.
    throughput: f64,
    /// The size of groups that were written lately, the largest first.
    largest: f64,
    /// Sums over the last groups, for a line through their sizes and times.
    groups: f64,
    loads: f64,
    seconds: f64,
    loads_squared: f64,
    loads_times_seconds: f64,
}

impl Pace {
    /// A group of so many loads took so long, and so many of them were answered.
    pub(super) fn learn(&mut self, size: u32, answered: u32, took: Duration) {
        let seconds = took.as_secs_f64().max(MIN_GROUP_TIME);
        self.throughput = f64::midpoint(self.throughput, f64::from(answered) / seconds);
        // Nobody knows how long a group that failed would have taken: longer than this.
        let (loads, seconds) = if answered > 0 {
            (f64::from(answered), seconds)
        } else {
            (f64::from(size.max(1)), seconds * 2.0)
        };
        self.largest = if answered > 0 {
            (self.largest * KEPT).max(loads)
        } else {
            loads / MAX_GROWTH / 2.0
        };
        self.groups = self.groups * KEPT + 1.0;
        self.loads = self.loads * KEPT + loads;
        self.seconds = self.seconds * KEPT + seconds;
        self.loads_squared = self.loads_squared * KEPT + loads * loads;
        self.loads_times_seconds = self.loads_times_seconds * KEPT + loads * seconds;
    }

    /// The most loads of the next group.
    pub(super) fn group(&self) -> usize {
        let most = match self.costs() {
            Some((per_group, per_load)) => {
                let time = GROUP_TIME.max(per_group * 2.0);
                let in_time = (time - per_group) / per_load;
                in_time.min(self.largest * MAX_GROWTH)
            }
            None => self.largest * PROBING_GROWTH,
        };
        whole(most.max(MIN_GROUP))
    }

    /// How many loads are stored within this time, or two groups, if that is more.
    pub(super) fn storable_within(&self, wait: Duration) -> usize {
        let in_time = whole(self.throughput * wait.as_secs_f64());
        in_time.max(self.group() * 2)
    }

    /// Whether a group of so many loads takes long: a good part of the time in which a session may
    /// be idle.
    pub(super) fn takes_long(&self, size: u32) -> bool {
        let seconds = match self.costs() {
            Some((per_group, per_load)) => per_group + per_load * f64::from(size),
            None => self.seconds / self.groups.max(1.0),
        };
        seconds > LONG_GROUP
    }

    /// How long so many loads take.
    pub(super) fn time_for(&self, loads: usize) -> Duration {
        let loads = u32::try_from(loads).unwrap_or(u32::MAX);
        Duration::from_secs_f64(f64::from(loads) / self.throughput.max(1.0))
    }

    /// The seconds of a group and of each load in it, if sizes were different enough to tell: the
    /// line through the last groups with the least squares of its errors.
    fn costs(&self) -> Option<(f64, f64)> {
        let variance = self.groups * self.loads_squared - self.loads * self.loads;
        if variance <= MIN_VARIANCE * self.loads * self.loads {
            return None;
        }
        let together = self.groups * self.loads_times_seconds - self.loads * self.seconds;
        let per_load = (together / variance).max(MIN_LOAD_TIME);
        let per_group = (self.seconds - per_load * self.loads) / self.groups.max(1.0);
        Some((per_group.max(0.0), per_load))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "never negative, and a number too large saturates"
)]
const fn whole(number: f64) -> usize {
    number.ceil() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_secs(3);

    /// Groups as large as allowed, up to 512, until the pace is known.
    fn settled(time_of: impl Fn(u32) -> Duration) -> Pace {
        let mut pace = Pace::default();
        for _ in 0..30 {
            let size = u32::try_from(pace.group().min(512)).unwrap();
            pace.learn(size, size, time_of(size));
        }
        pace
    }

    #[test]
    fn where_loads_cost_time_a_group_takes_a_second_and_the_wait_is_the_bound() {
        let pace = settled(|size| Duration::from_millis(20) * size);
        assert!(pace.takes_long(50) && !pace.takes_long(10));
        assert!((40..=80).contains(&pace.group()), "{}", pace.group());
        let storable = pace.storable_within(WAIT);
        assert!((145..=160).contains(&storable), "{storable}");
        assert_eq!(pace.time_for(100).as_secs(), 2);
    }

    #[test]
    fn where_groups_cost_time_they_become_as_large_as_they_may() {
        let pace = settled(|size| Duration::from_secs(1) + Duration::from_micros(10) * size);
        assert!(pace.group() >= 512, "{}", pace.group());
    }

    #[test]
    fn where_nothing_costs_time_groups_become_large_soon() {
        let quick = |size| Duration::from_millis(3) + Duration::from_micros(50) * size;
        assert!(settled(quick).group() >= 512);
        let mut pace = Pace::default();
        for size in [1, 3, 2, 4, 1] {
            pace.learn(size, size, quick(size));
        }
        assert!((16..=64).contains(&pace.group()));
    }

    #[test]
    fn groups_that_fail_become_small() {
        let mut pace = settled(|size| Duration::from_millis(2) * size);
        assert!(pace.group() >= 256, "{}", pace.group());
        for _ in 0..3 {
            let size = u32::try_from(pace.group().min(512)).unwrap();
            pace.learn(size, 0, Duration::from_secs(5));
        }
        assert!(pace.group() <= 64, "{}", pace.group());
    }

    #[test]
    fn a_writer_that_answers_nothing_has_no_pace() {
        let mut pace = Pace::default();
        for _ in 0..20 {
            pace.learn(64, 0, Duration::from_secs(15));
        }
        assert!(pace.storable_within(WAIT) <= 2 * whole(MIN_GROUP));
    }
}
