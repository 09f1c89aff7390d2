//! The verdict: the one line of JSON at the end of a trial.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::harness::build_profile;

/// How much of what a promise forbids a verdict shows.
const MAX_EXAMPLES: usize = 10;

/// Records figures and checks promises, one per line: `check "no failed load" => failed == 0`.
macro_rules! judge {
    ($verdict:expr; $($method:ident $what:expr => $value:expr),+ $(,)?) => {
        $($verdict.$method($what, $value);)+
    };
}
pub(crate) use judge;

/// Figures in the order in which they were recorded, and the broken promises.
#[derive(Debug)]
pub struct TrialVerdict {
    name: String,
    judges_figures: bool,
    broken: Vec<String>,
    figures: Vec<(String, Value)>,
}

impl TrialVerdict {
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            judges_figures: build_profile::JUDGES_FIGURES,
            broken: Vec::new(),
            figures: Vec::new(),
        }
    }

    /// Whether the run is large enough for its figures to be compared with their bounds. Those of a
    /// debug build never are. Promises always are.
    #[must_use]
    pub const fn judging_figures(mut self, judges_figures: bool) -> Self {
        self.judges_figures = self.judges_figures && judges_figures;
        self
    }

    pub fn record(&mut self, figure: &str, value: impl Into<Value>) -> &mut Self {
        self.figures.push((figure.to_owned(), value.into()));
        self
    }

    /// Records a promise as broken if it did not hold.
    pub fn check(&mut self, what: impl Into<String>, held: bool) -> &mut Self {
        if !held {
            self.broken.push(what.into());
        }
        self
    }

    /// The same for a bound on a figure: it depends on the speed of the machine, so a short run or
    /// a debug build may exceed it.
    pub fn check_figure(&mut self, what: impl Into<String>, held: bool) -> &mut Self {
        self.check(what, held || !self.judges_figures)
    }

    /// A promise that nothing was found. What was found is counted, and some of it is shown.
    pub fn check_none(
        &mut self,
        what: impl Into<String>,
        figure: &str,
        found: &[String],
    ) -> &mut Self {
        if !found.is_empty() {
            let some: Vec<&String> = found.iter().take(MAX_EXAMPLES).collect();
            self.record(figure, json!({"count": found.len(), "some": some}));
        }
        self.check(what, found.is_empty())
    }

    /// Adds another verdict as a part: its figures under this name, its promises with this
    /// prefix.
    pub fn merge_part(&mut self, part: &str, other: Self) -> &mut Self {
        let broken = other.broken.iter();
        let broken = broken.map(|promise| format!("{part}: {promise}"));
        self.broken.extend(broken);
        self.record(part, other.figures.into_iter().collect::<Value>())
    }

    pub const fn is_ok(&self) -> bool {
        self.broken.is_empty()
    }

    pub fn to_json_line(&self) -> String {
        let mut fields = vec![json_field("name", &self.name.clone().into())];
        fields.push(json_field("ok", &self.is_ok().into()));
        if !self.is_ok() {
            fields.push(json_field("broken", &self.broken.clone().into()));
        }
        fields.extend(
            self.figures
                .iter()
                .map(|(figure, value)| json_field(figure, value)),
        );
        format!("{{{}}}", fields.join(","))
    }

    pub fn print(&self) {
        // The reader may have closed the pipe; the exit code still shows the result.
        let _ = writeln!(std::io::stdout(), "{}", self.to_json_line());
    }
}

/// Written by hand: a map would change the order of the fields.
fn json_field(name: &str, value: &Value) -> String {
    format!("{}:{value}", Value::from(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_one_line_that_names_what_broke() {
        let mut verdict = TrialVerdict::new("chaos kill");
        verdict
            .record("lost", 1)
            .check("none lost", false)
            .check("in time", true);
        let expected = r#"{"name":"chaos kill","ok":false,"broken":["none lost"],"lost":1}"#;
        assert_eq!(verdict.to_json_line(), expected);
        verdict.check_none("none", "few", &[]).check_none(
            "none",
            "many",
            &["a".to_owned(), "b".to_owned()],
        );
        assert!(
            verdict
                .to_json_line()
                .ends_with(r#""many":{"count":2,"some":["a","b"]}}"#)
        );
    }

    #[test]
    fn a_verdict_without_judged_figures_still_judges_promises() {
        let judge = |judges_figures| {
            let mut verdict = TrialVerdict::new("bench load");
            verdict.judges_figures = judges_figures;
            verdict
                .check_figure("fast", false)
                .check("none lost", false);
            verdict.broken
        };
        assert_eq!(judge(true), ["fast", "none lost"]);
        assert_eq!(judge(false), ["none lost"]);
    }

    #[test]
    fn only_a_large_run_of_a_release_build_judges_figures() {
        let judges = |is_large| {
            let verdict = TrialVerdict::new("bench load").judging_figures(is_large);
            verdict.judges_figures
        };
        assert_eq!(judges(true), build_profile::JUDGES_FIGURES);
        assert!(!judges(false));
    }
}
