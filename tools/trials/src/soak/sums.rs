//! What all trials of a soak come to.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};

use crate::soak::trial::TrialResult;
use crate::verdict::Verdict;

/// Figures that are summed, and the names that verdicts have for them.
const FIGURES: [(&str, &[&str]); 5] = [
    ("kills", &["kills", "killed"]),
    ("loaded", &["loaded", "cargo"]),
    ("delivered", &["delivered", "successes"]),
    ("lost", &["lost"]),
    ("duplicates", &["duplicates", "callbacks_repeated"]),
];

#[derive(Debug, Default)]
struct Sum {
    runs: u64,
    failed: u64,
    seconds: u64,
    figures: BTreeMap<&'static str, u64>,
}

impl Sum {
    fn add(&mut self, result: &TrialResult, took: Duration) {
        self.runs += 1;
        self.failed += u64::from(!result.is_success);
        self.seconds += took.as_secs();
        for (figure, names) in FIGURES {
            *self.figures.entry(figure).or_default() += sum_of(&result.verdict, names);
        }
    }

    fn figure(&self, name: &str) -> u64 {
        self.figures.get(name).copied().unwrap_or_default()
    }

    fn json(&self) -> Value {
        let mut all = json!({"runs": self.runs, "failed": self.failed, "seconds": self.seconds});
        if let Some(all) = all.as_object_mut() {
            let more = self.figures.iter().filter(|(_, sum)| **sum > 0);
            all.extend(more.map(|(name, sum)| ((*name).to_owned(), json!(sum))));
        }
        all
    }
}

#[derive(Debug, Default)]
pub struct Sums {
    all: Sum,
    /// By the trial's name, without what was drawn.
    by_trial: BTreeMap<String, Sum>,
    failures: Vec<Value>,
    unknown: BTreeSet<String>,
}

impl Sums {
    pub fn add(&mut self, arguments: &str, result: &TrialResult, took: Duration) {
        self.all.add(result, took);
        let by_trial = self.by_trial.entry(name_of(arguments)).or_default();
        by_trial.add(result, took);
        if !result.is_success {
            let verdict = &result.verdict;
            let why = verdict.get("broken").or_else(|| verdict.get("error"));
            self.failures
                .push(json!({"arguments": arguments, "broken": why}));
        }
    }

    /// A trial that this binary does not have.
    pub fn unknown(&mut self, arguments: &str) {
        self.unknown.insert(name_of(arguments));
    }

    pub fn judge(&self, verdict: &mut Verdict) {
        let by_trial = self.by_trial.iter();
        let by_trial: BTreeMap<&String, Value> =
            by_trial.map(|(name, sum)| (name, sum.json())).collect();
        let submit = self.by_trial.get("chaos submit");
        verdict
            .note("trials", self.all.runs)
            .note("failed", self.all.failed)
            .note("failures", json!(self.failures));
        for (figure, _) in FIGURES {
            verdict.note(figure, self.all.figure(figure));
        }
        verdict
            .note(
                "kills_of_submit",
                submit.map_or(0, |submit| submit.figure("kills")),
            )
            .note("by_trial", json!(by_trial))
            .note("not_available", json!(self.unknown))
            .promise("at least one trial was run", self.all.runs > 0)
            .promise("every trial kept its promises", self.all.failed == 0)
            .promise("nothing is lost", self.all.figure("lost") == 0);
    }
}

/// A figure of a verdict; where only its parts have it, theirs together.
fn sum_of(verdict: &Value, names: &[&str]) -> u64 {
    let Some(fields) = verdict.as_object() else {
        return 0;
    };
    let own = names.iter().find_map(|name| fields.get(*name)?.as_u64());
    own.unwrap_or_else(|| fields.values().map(|part| sum_of(part, names)).sum())
}

/// The verb and its part, such as `chaos neighbours poison`.
fn name_of(arguments: &str) -> String {
    let words: Vec<&str> = arguments.split(' ').collect();
    let part = words.iter().position(|word| *word == "--part");
    let part = part.and_then(|place| words.get(place + 1));
    let verb = words.iter().take(2);
    verb.chain(part).copied().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_summed_under_one_name() {
        let mut sums = Sums::default();
        let result = |verdict| TrialResult {
            verdict,
            is_success: true,
            is_unknown: false,
        };
        let took = Duration::from_secs(2);
        let submit = result(json!({"ok": true, "kills": 100, "callbacks_repeated": 3, "lost": 0}));
        sums.add("chaos submit --seeds 1", &submit, took);
        sums.add("chaos submit --seeds 1", &submit, took);
        let kill = result(json!({"ok": true, "kills": 5, "duplicates": 1, "loaded": 10}));
        sums.add("chaos kill --seconds 20", &kill, took);
        let mut verdict = Verdict::new("soak");
        sums.judge(&mut verdict);
        let line: Value = serde_json::from_str(&verdict.line()).unwrap();
        assert_eq!(line["ok"], true);
        assert_eq!(
            (&line["kills"], &line["kills_of_submit"]),
            (&json!(205), &json!(200))
        );
        assert_eq!(
            (&line["duplicates"], &line["loaded"]),
            (&json!(7), &json!(10))
        );
        assert_eq!(line["by_trial"]["chaos submit"]["runs"], 2);
    }

    #[test]
    fn parts_are_summed_where_the_whole_has_no_figure() {
        let parts = json!({"ok": true, "one": {"with": {"loaded": 2}}, "two": {"loaded": 3}});
        assert_eq!(sum_of(&parts, &["loaded", "cargo"]), 5);
        let whole = json!({"cargo": 7, "one": {"loaded": 2}});
        assert_eq!(sum_of(&whole, &["loaded", "cargo"]), 7);
    }

    #[test]
    fn a_part_is_a_trial_of_its_own() {
        assert_eq!(
            name_of("chaos neighbours --small --part poison"),
            "chaos neighbours poison"
        );
        assert_eq!(name_of("chaos kill --seconds 3"), "chaos kill");
    }
}
