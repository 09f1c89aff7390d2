//! Checks the simulator's submissions: did it receive the same items twice?

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use crate::harness::{FailureContext as _, Result, TrialFailure};

/// The submissions of all accounts.
#[derive(Debug, Default)]
pub struct SubmissionAudit {
    pub submissions: usize,
    pub jobs: usize,
    /// Items of all jobs, except excused duplicates.
    pub items: u64,
    /// Jobs that were created without an answer to the worker.
    pub unanswered: usize,
    /// Unlabelled jobs that were sent again when no candidate was found after the grace.
    pub excused: usize,
    pub duplicates: Vec<String>,
}

impl SubmissionAudit {
    pub fn add_account(
        &mut self,
        name: &str,
        labelled: bool,
        grace: TimeDelta,
        list: &Value,
    ) -> Result<()> {
        let list = list.as_array().context("the submissions are not a list")?;
        let mut first: HashMap<String, DateTime<Utc>> = HashMap::new();
        for one in list {
            self.submissions += 1;
            let Some(job) = one.get("job").and_then(Value::as_str) else {
                continue;
            };
            self.jobs += 1;
            let items = one.get("items").and_then(Value::as_u64).unwrap_or_default();
            self.items += items;
            let is_heard = one.get("answered").and_then(Value::as_bool);
            self.unanswered += usize::from(is_heard == Some(false));
            let text = |field: &str| one.get(field).and_then(Value::as_str).unwrap_or_default();
            let at = text("at").parse::<DateTime<Utc>>();
            let at = at.map_err(|error| TrialFailure::new(format!("{one}: {error}")))?;
            let Some(before) = first.insert(text("ids_sha256").to_owned(), at) else {
                continue;
            };
            if !labelled && at - before >= grace {
                self.excused += 1;
                self.items -= items;
            } else {
                let (apart, label) = ((at - before).num_milliseconds(), text("label"));
                self.duplicates
                    .push(format!("{name} {job} {label}: again after {apart} ms"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_same_items_twice_are_excused_only_without_a_label_and_after_the_grace() {
        let one = |second: u32, ids: &str, job: Option<&str>| {
            json!({"at": format!("2026-01-01T00:00:{second:02}Z"), "ids_sha256": ids,
                "job": job, "items": 2, "answered": true})
        };
        let list = json!([
            one(0, "a", Some("1")),
            one(1, "b", None),
            one(2, "b", Some("2")),
            one(20, "a", Some("3")),
            one(21, "b", Some("4")),
            one(22, "b", Some("5")),
        ]);
        let (mut labelled, mut unlabelled) =
            (SubmissionAudit::default(), SubmissionAudit::default());
        let grace = TimeDelta::seconds(8);
        labelled.add_account("x", true, grace, &list).unwrap();
        unlabelled.add_account("x", false, grace, &list).unwrap();
        assert_eq!((labelled.submissions, labelled.jobs), (6, 5));
        assert_eq!((labelled.duplicates.len(), labelled.excused), (3, 0));
        assert_eq!((unlabelled.duplicates.len(), unlabelled.excused), (1, 2));
    }
}
