//! The answers of a run, against its requests.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{FailureContext as _, Result, TrialVerdict, judge};

/// What the answers say.
#[derive(Debug, Default)]
pub(super) struct AnswerFindings {
    lines: u64,
    cargo: HashSet<String>,
    wrong: Vec<String>,
}

impl AnswerFindings {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let file = fs::File::open(path).context("opening the answers")?;
        let mut findings = Self::default();
        for line in BufReader::new(file).lines() {
            let line = line.context("reading the answers")?;
            let answer: Value = serde_json::from_str(&line).context("reading an answer")?;
            let expected = format!("line {}", findings.lines);
            let text = answer.pointer("/response/content/0/text");
            let is_right = answer.get("position") == Some(&json!(findings.lines))
                && text.and_then(Value::as_str) == Some(expected.as_str());
            if !is_right {
                findings.wrong.push(line.chars().take(200).collect());
            }
            let id = answer.get("cargo_id").and_then(Value::as_str);
            findings.cargo.insert(id.unwrap_or_default().to_owned());
            findings.lines += 1;
        }
        Ok(findings)
    }

    pub(super) fn judge(&self, verdict: &mut TrialVerdict, expected: u64) {
        let different_cargo = u64::try_from(self.cargo.len()).unwrap_or(u64::MAX);
        judge! { verdict;
            check "every line has an answer" => self.lines == expected,
            check "every answer is of another cargo" => different_cargo == expected,
        }
        let what = "answers are right and in order";
        verdict.check_none(what, "wrong_answers", &self.wrong);
    }
}
