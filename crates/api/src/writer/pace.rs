//! How fast a writer is, and whether larger groups would make it faster.
//!
//! Where each load costs time, a longer queue only means a longer wait. Where each group
//! costs time, as with a distant database, larger groups store more in the same time, and
//! there must be enough loads in the queue to form them.

use std::time::Duration;

/// Groups by the logarithm of their size; the last is for all that are larger.
const SIZES: usize = 10;
/// A size counts as fast enough with this part of the best throughput.
const ENOUGH: f64 = 0.7;
/// What a measurement is worth after each other group.
const FORGET: f64 = 0.98;
const SHORTEST_GROUP: f64 = 0.001;

#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Loads that were answered in a second, lately.
    throughput: f64,
    /// The same by the size of the group.
    by_size: [f64; SIZES],
}

impl Pace {
    /// A group of so many loads took so long, and so many of them were answered.
    pub(super) fn learn(&mut self, size: u32, answered: u32, took: Duration) {
        let throughput = f64::from(answered) / took.as_secs_f64().max(SHORTEST_GROUP);
        self.throughput = f64::midpoint(self.throughput, throughput);
        for known in &mut self.by_size {
            *known *= FORGET;
        }
        if let Some(known) = self.by_size.get_mut(place(size)) {
            *known = if *known > 0.0 {
                f64::midpoint(*known, throughput)
            } else {
                throughput
            };
        }
    }

    /// How many loads are stored within this time, or two groups of the smallest size that is
    /// fast enough, if that is more.
    pub(super) fn storable_within(&self, wait: Duration) -> usize {
        let in_time = whole(self.throughput * wait.as_secs_f64());
        let best = self.by_size.iter().copied().fold(0.0, f64::max);
        let smallest = self
            .by_size
            .iter()
            .position(|known| *known >= best * ENOUGH);
        let two_groups = smallest.map_or(0, |place| 4_usize << place);
        in_time.max(two_groups)
    }

    /// How long so many loads take.
    pub(super) fn time_for(&self, loads: usize) -> Duration {
        let loads = u32::try_from(loads).unwrap_or(u32::MAX);
        Duration::from_secs_f64(f64::from(loads) / self.throughput.max(1.0))
    }
}

fn place(size: u32) -> usize {
    let logarithm = usize::try_from(size.max(1).ilog2()).unwrap_or(SIZES);
    logarithm.min(SIZES - 1)
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

    #[test]
    fn where_loads_cost_time_the_wait_is_the_bound() {
        let mut pace = Pace::default();
        for size in [1, 4, 16, 64, 256, 256, 256, 256, 256, 256] {
            pace.learn(size, size, Duration::from_millis(20) * size);
        }
        assert!((145..=150).contains(&pace.storable_within(WAIT)));
        assert_eq!(pace.time_for(100).as_secs(), 2);
    }

    #[test]
    fn where_groups_cost_time_there_is_room_for_larger_ones() {
        let mut pace = Pace::default();
        for size in [1, 4, 16, 64] {
            pace.learn(size, size, Duration::from_secs(4));
        }
        assert_eq!(pace.storable_within(WAIT), 4 * 64);
    }

    #[test]
    fn a_writer_that_answers_nothing_has_no_pace() {
        let mut pace = Pace::default();
        for _ in 0..20 {
            pace.learn(64, 0, Duration::from_secs(15));
        }
        assert!(pace.storable_within(WAIT) <= 4);
    }
}
