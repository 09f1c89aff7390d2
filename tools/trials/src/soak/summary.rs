//! The sums over all trials of a soak.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::verdict::TrialVerdict;
use crate::soak::trial_process::TrialResult;

/// Figures that are summed, and their names in verdicts.
const FIGURES: [(&str, &[&str]); 5] = [
    ("kills", &["kills", "killed"]),
    ("loaded", &["loaded", "cargo"]),
    ("delivered", &["delivered", "successes"]),
    ("lost", &["lost"]),
    ("duplicates", &["duplicates", "callbacks_repeated"]),
];

#[derive(Debug, Default)]
struct TrialTotals {
    runs: u64,
    failed: u64,
    seconds: u64,
    figures: BTreeMap<&'static str, u64>,
}

impl TrialTotals {
    fn add(&mut self, result: &TrialResult, took: Duration) {
        self.runs += 1;
        self.failed += u64::from(!result.is_success);
        self.seconds += took.as_secs();
        for (figure, names) in FIGURES {
            *self.figures.entry(figure).or_default() += sum_figure(&result.verdict, names);
        }
    }

    fn figure(&self, name: &str) -> u64 {
        self.figures.get(name).copied().unwrap_or_default()
    }

    fn to_json(&self) -> Value {
        let mut all = json!({"runs": self.runs, "failed": self.failed, "seconds": self.seconds});
        if let Some(all) = all.as_object_mut() {
            let more = self.figures.iter().filter(|(_, sum)| **sum > 0);
            all.extend(more.map(|(name, sum)| ((*name).to_owned(), json!(sum))));
        }
        all
    }
}

#[derive(Debug, Default)]
pub struct SoakSummary {
    all: TrialTotals,
    /// By the trial's name, without its arguments.
    by_trial: BTreeMap<String, TrialTotals>,
    failures: Vec<Value>,
    unknown: BTreeSet<String>,
}

impl SoakSummary {
    pub fn add(&mut self, arguments: &str, result: &TrialResult, took: Duration) {
        self.all.add(result, took);
        let by_trial = self.by_trial.entry(trial_name(arguments)).or_default();
        by_trial.add(result, took);
        if !result.is_success {
            let verdict = &result.verdict;
            let why = verdict.get("broken").or_else(|| verdict.get("error"));
            self.failures
                .push(json!({"arguments": arguments, "broken": why}));
        }
    }

    /// A trial that this binary does not have.
    pub fn add_unknown(&mut self, arguments: &str) {
        self.unknown.insert(trial_name(arguments));
    }

    pub fn judge(&self, verdict: &mut TrialVerdict) {
        let by_trial = self.by_trial.iter();
        let by_trial: BTreeMap<&String, Value> =
            by_trial.map(|(name, sum)| (name, sum.to_json())).collect();
        let submit = self.by_trial.get("chaos submit");
        verdict
            .record("trials", self.all.runs)
            .record("failed", self.all.failed)
            .record("failures", json!(self.failures));
        for (figure, _) in FIGURES {
            verdict.record(figure, self.all.figure(figure));
        }
        verdict
            .record(
                "kills_of_submit",
                submit.map_or(0, |submit| submit.figure("kills")),
            )
            .record("by_trial", json!(by_trial))
            .record("not_available", json!(self.unknown))
            .check("at least one trial was run", self.all.runs > 0)
            .check("every trial kept its promises", self.all.failed == 0)
            .check("no cargo is lost", self.all.figure("lost") == 0);
    }
}

/// A figure of a verdict; if only its parts have it, the sum over them.
fn sum_figure(verdict: &Value, names: &[&str]) -> u64 {
    let Some(fields) = verdict.as_object() else {
        return 0;
    };
    let own = names.iter().find_map(|name| fields.get(*name)?.as_u64());
    own.unwrap_or_else(|| fields.values().map(|part| sum_figure(part, names)).sum())
}

/// The verb and its part, such as `chaos neighbours poison`.
fn trial_name(arguments: &str) -> String {
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
        let mut sums = SoakSummary::default();
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
        let mut verdict = TrialVerdict::new("soak");
        sums.judge(&mut verdict);
        let line: Value = serde_json::from_str(&verdict.to_json_line()).unwrap();
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
        assert_eq!(sum_figure(&parts, &["loaded", "cargo"]), 5);
        let whole = json!({"cargo": 7, "one": {"loaded": 2}});
        assert_eq!(sum_figure(&whole, &["loaded", "cargo"]), 7);
    }

    #[test]
    fn a_part_counts_as_a_separate_trial() {
        assert_eq!(
            trial_name("chaos neighbours --small --part poison"),
            "chaos neighbours poison"
        );
        assert_eq!(trial_name("chaos kill --seconds 3"), "chaos kill");
    }
}
