//! Which points are tried, for whom, in which order, and what became of each.

use std::collections::{BTreeMap, VecDeque};

use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

/// In the order of the path, as crate `workers` has them.
fn points() -> Vec<&'static str> {
    include_str!("../../../../../crates/workers/src/chaos/points.txt")
        .lines()
        .collect()
}

/// How the names of accounts begin.
pub const PROVIDERS: [&str; 3] = ["openai", "claude", "gemini"];
/// What has no label waits for its turn.
const UNLABELLED: &str = "claude";
const OF_UNLABELLED: &str = "dispatch.turn";
/// A point that is not passed in its time is tried so often.
const MOST_TRIES: u32 = 4;
/// The first few to pass it may live.
const LATEST: u32 = 2;

/// One death that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub point: &'static str,
    pub provider: &'static str,
    pub nth: u32,
    tries: u32,
}

impl Wanted {
    pub fn setting(&self) -> String {
        format!("{}:{}:{}", self.point, self.nth, self.provider)
    }

    /// It lies where a submission is looked for: somebody must have lost one.
    pub fn needs_a_loss(&self) -> bool {
        matches!(
            self.point,
            "dispatch.looking" | "dispatch.looked" | "dispatch.not_found" | "dispatch.rebuilt"
        )
    }

    pub fn needs_a_cancel(&self) -> bool {
        self.point.starts_with("collect.cancel")
    }
}

/// The deaths of all seeds, one after the other.
#[derive(Debug, Default)]
pub struct Plan {
    waiting: VecDeque<Wanted>,
    kills: BTreeMap<(&'static str, &'static str), u32>,
    missed: Vec<String>,
}

impl Plan {
    /// Every point for every provider, or as many points as told, spread over the path.
    pub fn new(seeds: impl IntoIterator<Item = u64>, points: usize) -> Self {
        let mut plan = Self::default();
        let all = self::points();
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
                let with = providers.filter(|it| point != OF_UNLABELLED || *it == UNLABELLED);
                wanted.extend(with.map(|provider| Wanted {
                    point,
                    provider,
                    nth: random.random_range(1..=LATEST),
                    tries: 0,
                }));
            }
            wanted.shuffle(&mut random);
            for one in &wanted {
                plan.kills.entry((one.point, one.provider)).or_default();
            }
            plan.waiting.extend(wanted);
        }
        plan
    }

    pub fn take(&mut self) -> Option<Wanted> {
        self.waiting.pop_front()
    }

    pub fn left(&self) -> usize {
        self.waiting.len()
    }

    pub fn died(&mut self, wanted: &Wanted) {
        *self
            .kills
            .entry((wanted.point, wanted.provider))
            .or_default() += 1;
    }

    /// It lived on: it is tried again later, at the first chance.
    pub fn lived(&mut self, mut wanted: Wanted) {
        wanted.nth = 1;
        wanted.tries += 1;
        if wanted.tries < MOST_TRIES {
            self.waiting.push_back(wanted);
        } else {
            self.missed.push(wanted.setting());
        }
    }

    pub fn kills(&self) -> u32 {
        self.kills.values().sum()
    }

    /// Different points at which somebody died, for whomever.
    pub fn points(&self) -> usize {
        let mut points: Vec<_> = self.kills.iter().filter(|(_, count)| **count > 0).collect();
        points.dedup_by_key(|((point, _), _)| *point);
        points.len()
    }

    pub fn by_provider(&self) -> Value {
        let mut sums: BTreeMap<&str, u32> = BTreeMap::new();
        for ((_, provider), count) in &self.kills {
            *sums.entry(provider).or_default() += count;
        }
        json!(sums)
    }

    /// Where nobody died, in any seed.
    pub fn never(&self) -> Vec<String> {
        let never = self.kills.iter().filter(|(_, count)| **count == 0);
        never
            .map(|((point, provider), _)| format!("{point} {provider}"))
            .collect()
    }

    /// Deaths that some seed did without.
    pub fn missed(&self) -> &[String] {
        &self.missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_wanted_for_every_provider_that_has_it() {
        let plan = Plan::new(1..=2, usize::MAX);
        assert_eq!(plan.left(), 2 * (33 * 3 + 1));
        assert_eq!(plan.never().len(), 33 * 3 + 1);
    }

    #[test]
    fn a_short_plan_has_points_of_the_whole_path() {
        let mut plan = Plan::new([1], 8);
        let mut points: Vec<_> = std::iter::from_fn(|| plan.take())
            .map(|it| it.point)
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
