//! The verdict: the one line of JSON at the end of a trial.

use std::io::Write as _;

use serde_json::Value;

/// Figures in the order in which they were recorded, and the broken promises.
#[derive(Debug)]
pub struct TrialVerdict {
    name: String,
    broken: Vec<String>,
    figures: Vec<(String, Value)>,
}

impl TrialVerdict {
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            broken: Vec::new(),
            figures: Vec::new(),
        }
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
    }
}
