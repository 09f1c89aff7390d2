//! The one line of JSON that a trial ends with.

use std::io::Write as _;

use serde_json::Value;

/// Figures in the order in which they were noted, and which promises were broken.
#[derive(Debug)]
pub struct Verdict {
    name: String,
    broken: Vec<String>,
    figures: Vec<(String, Value)>,
}

impl Verdict {
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            broken: Vec::new(),
            figures: Vec::new(),
        }
    }

    pub fn note(&mut self, figure: &str, value: impl Into<Value>) -> &mut Self {
        self.figures.push((figure.to_owned(), value.into()));
        self
    }

    /// A promise, and whether it held.
    pub fn promise(&mut self, what: impl Into<String>, held: bool) -> &mut Self {
        if !held {
            self.broken.push(what.into());
        }
        self
    }

    /// Another verdict as a part of this one: its figures under the name, its promises with it.
    pub fn absorb(&mut self, part: &str, other: Self) -> &mut Self {
        let broken = other.broken.iter();
        let broken = broken.map(|promise| format!("{part}: {promise}"));
        self.broken.extend(broken);
        self.note(part, other.figures.into_iter().collect::<Value>())
    }

    pub const fn is_ok(&self) -> bool {
        self.broken.is_empty()
    }

    pub fn line(&self) -> String {
        let mut fields = vec![field("name", &self.name.clone().into())];
        fields.push(field("ok", &self.is_ok().into()));
        if !self.is_ok() {
            fields.push(field("broken", &self.broken.clone().into()));
        }
        fields.extend(
            self.figures
                .iter()
                .map(|(figure, value)| field(figure, value)),
        );
        format!("{{{}}}", fields.join(","))
    }

    pub fn print(&self) {
        // A closed pipe is the reader's choice; the exit code still tells.
        let _ = writeln!(std::io::stdout(), "{}", self.line());
    }
}

/// The order of fields is for people, so no map may change it.
fn field(name: &str, value: &Value) -> String {
    format!("{}:{value}", Value::from(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_one_line_that_names_what_broke() {
        let mut verdict = Verdict::new("chaos kill");
        verdict
            .note("lost", 1)
            .promise("none lost", false)
            .promise("in time", true);
        let expected = r#"{"name":"chaos kill","ok":false,"broken":["none lost"],"lost":1}"#;
        assert_eq!(verdict.line(), expected);
    }
}
