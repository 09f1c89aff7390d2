//! Which failpoints are tried, for which provider, in which order, and the results.

use std::collections::{BTreeMap, VecDeque};

use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

/// In the order of the path, from crate `workers`.
fn failpoint_names() -> Vec<&'static str> {
    include_str!("../../../../../crates/workers/src/failpoint/points.txt")
        .lines()
        .collect()
}

/// Prefixes of the account names.
pub const PROVIDERS: [&str; 3] = ["openai", "claude", "gemini"];
/// Jobs of this provider have no label, so its submissions wait for a slot.
const UNLABELLED_PROVIDER: &str = "claude";
const UNLABELLED_FAILPOINT: &str = "dispatch.turn";
/// How often a failpoint is tried that was not reached in time.
const MAX_TRIES: u32 = 4;
/// A worker may pass the failpoint once before it kills itself.
const MAX_NTH_PASS: u32 = 2;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedKill {
    pub failpoint: &'static str,
    pub provider: &'static str,
    pub nth: u32,
    tries: u32,
}

impl PlannedKill {
    pub fn setting(&self) -> String {
        format!("{}:{}:{}", self.failpoint, self.nth, self.provider)
    }

    /// This failpoint is in the reconcile path: a submission must have been lost.
    pub fn needs_lost_submission(&self) -> bool {
        matches!(
            self.failpoint,
            "dispatch.looking" | "dispatch.looked" | "dispatch.not_found" | "dispatch.rebuilt"
        )
    }

    pub fn needs_cancel(&self) -> bool {
        self.failpoint.starts_with("collect.cancel")
    }
}

/// The kills of all seeds, one after the other.
#[derive(Debug, Default)]
pub struct KillSchedule {
    pending: VecDeque<PlannedKill>,
    kill_counts: BTreeMap<(&'static str, &'static str), u32>,
    missed: Vec<String>,
}

impl KillSchedule {
    /// Every failpoint for every provider, or `points` of them, spread over the path.
    pub fn new(seeds: impl IntoIterator<Item = u64>, points: usize) -> Self {
        let mut plan = Self::default();
        let all = self::failpoint_names();
        let points = points.clamp(1, all.len());
        for seed in seeds {
            let mut random = StdRng::seed_from_u64(seed);
            let mut wanted = Vec::new();
            for place in 0..points {
                let place = (place * all.len() + usize::try_from(seed).unwrap_or_default())
                    / points
                    % all.len();
                let Some(point) = all.get(place).copied() else {
                    continue;
                };
                let providers = PROVIDERS.into_iter();
                let with = providers
                    .filter(|it| point != UNLABELLED_FAILPOINT || *it == UNLABELLED_PROVIDER);
                wanted.extend(with.map(|provider| PlannedKill {
                    failpoint: point,
                    provider,
                    nth: random.random_range(1..=MAX_NTH_PASS),
                    tries: 0,
                }));
            }
            wanted.shuffle(&mut random);
            for one in &wanted {
                plan.kill_counts
                    .entry((one.failpoint, one.provider))
                    .or_default();
            }
            plan.pending.extend(wanted);
        }
        plan
    }

    pub fn next_kill(&mut self) -> Option<PlannedKill> {
        self.pending.pop_front()
    }

    pub fn remaining(&self) -> usize {
        self.pending.len()
    }

    pub fn record_kill(&mut self, wanted: &PlannedKill) {
        *self
            .kill_counts
            .entry((wanted.failpoint, wanted.provider))
            .or_default() += 1;
    }

    /// The worker was not killed: tries again later, at the first pass.
    pub fn reschedule(&mut self, mut wanted: PlannedKill) {
        wanted.nth = 1;
        wanted.tries += 1;
        if wanted.tries < MAX_TRIES {
            self.pending.push_back(wanted);
        } else {
            self.missed.push(wanted.setting());
        }
    }

    pub fn kill_count(&self) -> u32 {
        self.kill_counts.values().sum()
    }

    /// The number of different failpoints that were hit, for any provider.
    pub fn count_failpoints_hit(&self) -> usize {
        let mut points: Vec<_> = self
            .kill_counts
            .iter()
            .filter(|(_, count)| **count > 0)
            .collect();
        points.dedup_by_key(|((point, _), _)| *point);
        points.len()
    }

    pub fn kills_by_provider(&self) -> Value {
        let mut sums: BTreeMap<&str, u32> = BTreeMap::new();
        for ((_, provider), count) in &self.kill_counts {
            *sums.entry(provider).or_default() += count;
        }
        json!(sums)
    }

    /// Failpoints that were never hit, in any seed.
    pub fn failpoints_never_hit(&self) -> Vec<String> {
        let never = self.kill_counts.iter().filter(|(_, count)| **count == 0);
        never
            .map(|((point, provider), _)| format!("{point} {provider}"))
            .collect()
    }

    /// Kills that did not happen in some seed.
    pub fn missed(&self) -> &[String] {
        &self.missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failpoint_is_planned_for_every_provider_that_has_it() {
        let plan = KillSchedule::new(1..=2, usize::MAX);
        assert_eq!(plan.remaining(), 2 * (33 * 3 + 1));
        assert_eq!(plan.failpoints_never_hit().len(), 33 * 3 + 1);
    }

    #[test]
    fn a_short_schedule_has_failpoints_of_the_whole_path() {
        let mut plan = KillSchedule::new([1], 8);
        let mut points: Vec<_> = std::iter::from_fn(|| plan.next_kill())
            .map(|it| it.failpoint)
            .collect();
        points.sort_unstable();
        points.dedup();
        assert_eq!(points.len(), 8);
        for stage in ["gather", "dispatch", "collect"] {
            assert!(
                points.iter().any(|point| point.starts_with(stage)),
                "{stage}"
            );
        }
    }
}
