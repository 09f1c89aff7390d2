//! Which trial runs next, with which arguments.

use std::collections::VecDeque;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};

/// Every round runs each of these once, in another order. `{seed}` and `{20-45}` are replaced
/// by random numbers. A trial that this binary does not have is skipped. `chaos server` is not
/// here: it needs llama.cpp and the file of a model.
const TRIAL_TEMPLATES: &[&str] = &[
    "chaos kill --seconds {20-45}",
    "chaos connections --seconds {20-45}",
    "chaos restart --seconds {15-30}",
    "chaos shard --seconds {8-15}",
    "chaos limits --rounds 1 --waits 1",
    "chaos redis --seconds 3",
    "chaos files --uploads {100-300}",
    "chaos scanner",
    "chaos store --seconds {5-12}",
    "chaos idle --small",
    "chaos markers --small",
    "chaos alerts --small",
    "chaos restore --small",
    "chaos cancel --small",
    "chaos run --lines {3000-9000}",
    "chaos listen",
    "chaos upgrade --small",
];
/// The large trials, for a minute or two each.
const SHORT_TEMPLATES: &[&str] = &[
    "chaos freeze --rounds {2-4} --most-seconds {10-40}",
    "chaos partition --rounds {2-4} --most-seconds {10-40}",
    "chaos promote --rounds {1-3}",
    "chaos failover --rounds {1-3}",
    "chaos statements --seconds {20-40} --seed {seed}",
    "chaos overload --seconds {20-40} --part load",
    "chaos overload --seconds {20-40} --part distance",
    "chaos overload --part clocks",
    "chaos overload --part disk",
    "chaos neighbours --small --part provider",
    "chaos neighbours --small --part flood",
    "chaos neighbours --small --part receivers",
    "chaos neighbours --small --part poison",
    "chaos neighbours --small --part memory",
    "chaos neighbours --small --part connections",
];
/// The same in full size, which is their default. They take about 45 minutes together, and a
/// whole round an hour without the submissions.
const FULL_TEMPLATES: &[&str] = &[
    "chaos freeze",
    "chaos partition",
    "chaos promote",
    "chaos failover",
    "chaos statements --seed {seed}",
    "chaos overload",
    "chaos neighbours",
];
/// Every failpoint of a submission, once for each provider.
const SUBMIT_TEMPLATE: &str = "chaos submit --seeds 1 --first {seed} --cargo 200 --minutes 20";
/// The percentage of the time for submissions: a soak needs many of their kills.
const SUBMIT_TIME_PERCENT: u128 = 45;
const MAX_SEED: u32 = 1_000_000;

#[derive(Debug)]
pub struct SoakSchedule {
    random: StdRng,
    trials: Vec<&'static str>,
    /// What is left of this round.
    round: VecDeque<&'static str>,
    with_submit: bool,
    /// The time spent on submissions, and on all trials.
    submit_time: Duration,
    total_time: Duration,
}

impl SoakSchedule {
    pub fn new(seed: u64, only: Option<&str>, is_full: bool, with_submit: bool) -> Self {
        let wanted = |trial: &str| only.is_none_or(|only| trial.contains(only));
        Self {
            random: StdRng::seed_from_u64(seed),
            trials: round_templates(is_full).filter(|it| wanted(it)).collect(),
            round: VecDeque::new(),
            with_submit: with_submit && wanted(SUBMIT_TEMPLATE),
            submit_time: Duration::ZERO,
            total_time: Duration::ZERO,
        }
    }

    pub const fn is_empty(&self) -> bool {
        self.trials.is_empty() && !self.with_submit
    }

    /// The arguments of the next trial.
    pub fn draw_trial(&mut self) -> Vec<String> {
        let share = self.total_time.as_millis() * SUBMIT_TIME_PERCENT / 100;
        let is_behind = self.submit_time.as_millis() <= share;
        if self.with_submit && (is_behind || self.trials.is_empty()) {
            return self.fill_placeholders(SUBMIT_TEMPLATE);
        }
        if self.round.is_empty() {
            let mut trials = self.trials.clone();
            trials.shuffle(&mut self.random);
            // Trials in full size come first: a soak of two hours has time for all of them.
            trials.sort_by_key(|trial| !FULL_TEMPLATES.contains(trial));
            self.round = trials.into();
        }
        let trial = self.round.pop_front().unwrap_or_default();
        self.fill_placeholders(trial)
    }

    /// Removes a trial that this binary does not have.
    pub fn remove(&mut self, arguments: &[String]) {
        let is_other = |trial: &&str| !matches_template(trial, arguments);
        self.trials.retain(is_other);
        self.round.retain(is_other);
        self.with_submit &= !is_submit(arguments);
    }

    pub fn record(&mut self, arguments: &[String], time: Duration) {
        self.total_time += time;
        if is_submit(arguments) {
            self.submit_time += time;
        }
    }

    fn fill_placeholders(&mut self, trial: &str) -> Vec<String> {
        let words = trial.split(' ');
        words.map(|word| self.fill_placeholder(word)).collect()
    }

    fn fill_placeholder(&mut self, word: &str) -> String {
        let Some(name) = placeholder_name(word) else {
            return word.to_owned();
        };
        let range = name.split_once('-').and_then(|(least, most)| {
            Some((least.parse::<u32>().ok()?, most.parse::<u32>().ok()?))
        });
        let (least, most) = range.unwrap_or((1, MAX_SEED));
        self.random.random_range(least..=most).to_string()
    }
}

/// The trials of a round.
fn round_templates(is_full: bool) -> impl Iterator<Item = &'static str> {
    let large = if is_full {
        FULL_TEMPLATES
    } else {
        SHORT_TEMPLATES
    };
    large.iter().chain(TRIAL_TEMPLATES).copied()
}

pub fn is_submit(arguments: &[String]) -> bool {
    matches_template(SUBMIT_TEMPLATE, arguments)
}

fn matches_template(trial: &str, arguments: &[String]) -> bool {
    let words: Vec<&str> = trial.split(' ').collect();
    words.len() == arguments.len()
        && words
            .iter()
            .zip(arguments)
            .all(|(word, argument)| placeholder_name(word).is_some() || word == argument)
}

fn placeholder_name(word: &str) -> Option<&str> {
    word.strip_prefix('{')?.strip_suffix('}')
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use crate::options::{Options, verdict_name};

    use super::*;

    /// It needs llama.cpp and the file of a model.
    const TRIAL_OUTSIDE_SOAKS: &str = "chaos server";

    fn draw_round(is_full: bool) -> Vec<Vec<String>> {
        let mut schedule = SoakSchedule::new(7, None, is_full, false);
        round_templates(is_full)
            .map(|_| schedule.draw_trial())
            .collect()
    }

    #[test]
    fn a_round_runs_every_trial_once_with_numbers_in_place_of_names() {
        for is_full in [false, true] {
            let mut round = draw_round(is_full);
            for arguments in &round {
                assert!(!arguments.join(" ").contains('{'), "{arguments:?}");
            }
            for trial in round_templates(is_full) {
                let place = round.iter().position(|it| matches_template(trial, it));
                round.remove(place.unwrap());
            }
            assert!(round.is_empty());
        }
    }

    #[test]
    fn a_round_has_every_chaos_trial_of_the_command_line() {
        let command = Options::command();
        let chaos = command.find_subcommand("chaos").unwrap().get_subcommands();
        let all = chaos.map(|trial| format!("chaos {}", trial.get_name()));
        let expected: BTreeSet<String> = all.filter(|it| it != TRIAL_OUTSIDE_SOAKS).collect();
        for is_full in [false, true] {
            let mut round = draw_round(is_full);
            round.push(SoakSchedule::new(7, Some("chaos submit"), is_full, true).draw_trial());
            let names = round.into_iter().map(|arguments| {
                let program = ["trials", "--longshored", "longshored"].map(str::to_owned);
                let line = program.into_iter().chain(arguments);
                verdict_name(&Options::command().try_get_matches_from(line).unwrap())
            });
            assert_eq!(names.collect::<BTreeSet<_>>(), expected);
        }
    }

    #[test]
    fn trials_in_full_size_come_first() {
        let round = draw_round(true);
        let (first, others) = round.split_at(FULL_TEMPLATES.len());
        let is_full = |arguments: &Vec<String>| {
            let mut trials = FULL_TEMPLATES.iter();
            trials.any(|trial| matches_template(trial, arguments))
        };
        assert!(first.iter().all(is_full) && !others.iter().any(is_full));
    }

    #[test]
    fn submissions_have_their_share_of_the_time() {
        let mut schedule = SoakSchedule::new(7, None, false, true);
        let (mut submits, mut others) = (0, 0);
        for _ in 0..1000 {
            let arguments = schedule.draw_trial();
            let minutes = if is_submit(&arguments) { 7 } else { 1 };
            schedule.record(&arguments, Duration::from_mins(minutes));
            *(if minutes == 7 {
                &mut submits
            } else {
                &mut others
            }) += minutes;
        }
        assert!((40..=50).contains(&(submits * 100 / (submits + others))));
    }

    #[test]
    fn what_does_not_exist_is_not_tried_again() {
        let mut schedule = SoakSchedule::new(7, Some("chaos kill"), false, false);
        let arguments = schedule.draw_trial();
        assert_eq!(arguments[..3], ["chaos", "kill", "--seconds"]);
        schedule.remove(&arguments);
        assert!(schedule.is_empty());
    }

    #[test]
    fn the_same_seed_draws_the_same() {
        let of = |seed| SoakSchedule::new(seed, None, false, true).draw_trial();
        assert_eq!(of(3), of(3));
        assert_ne!(of(3), of(4));
    }
}
