//! The tables that all clients share: errors and cases of the retry rule.

#![expect(clippy::unwrap_used, reason = "a helper that fails ends its test")]

use std::path::Path;
use std::time::Duration;

use client::error_entry::RetryRule;
use client::error_table::ERROR_TABLE;
use client::retry::{FailedRequest, decide};
use toml::{Table, Value};

fn read_shared(name: &str) -> Table {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients");
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    text.parse().unwrap()
}

fn rule_name(rule: RetryRule) -> &'static str {
    match rule {
        RetryRule::Never => "no",
        RetryRule::Backoff => "backoff",
        RetryRule::SlowBackoff => "slow_backoff",
        RetryRule::RetryAfter => "retry_after",
    }
}

fn text<'a>(entry: &'a Value, field: &str) -> Option<&'a str> {
    entry.get(field)?.as_str()
}

#[test]
fn the_table_of_errors_is_that_of_all_clients() {
    let shared = read_shared("errors.toml");
    let shared = shared["error"].as_array().unwrap();
    let expected: Vec<_> = shared
        .iter()
        .map(|entry| {
            (
                entry["status"].as_integer().unwrap(),
                text(entry, "code"),
                text(entry, "class").unwrap(),
                text(entry, "retry").unwrap(),
                text(entry, "advice").unwrap(),
            )
        })
        .collect();
    let ours: Vec<_> = ERROR_TABLE
        .iter()
        .map(|entry| {
            let rule = rule_name(entry.rule);
            let status = i64::from(entry.status);
            (status, entry.code, entry.class, rule, entry.advice)
        })
        .collect();
    assert_eq!(ours, expected, "stale: ./dev client-errors rewrites it");
}

#[test]
fn the_retry_rule_is_that_of_all_clients() {
    let shared = read_shared("retry_cases.toml");
    for case in shared["case"].as_array().unwrap() {
        let flag = |field: &str| case.get(field).and_then(Value::as_bool);
        let seconds = |field: &str| {
            let number = case.get(field)?;
            let whole = || {
                number
                    .as_integer()
                    .map(|it| Duration::from_secs(it.unsigned_abs()))
            };
            number
                .as_float()
                .map(Duration::from_secs_f64)
                .or_else(whole)
        };
        let status = u16::try_from(case["status"].as_integer().unwrap()).unwrap();
        let request = FailedRequest {
            method: text(case, "method").unwrap(),
            has_idempotency_key: flag("idempotency_key").unwrap(),
            is_idempotent: flag("idempotent").unwrap_or_default(),
            was_sent: flag("body_sent").unwrap(),
            status: (status > 0).then_some(status),
            code: text(case, "code"),
            retry_after: seconds("retry_after"),
            should_retry: flag("should_retry"),
            attempt: u32::try_from(case["attempt"].as_integer().unwrap()).unwrap(),
        };
        let name = text(case, "name").unwrap();
        let wait = decide(&request);
        assert_eq!(wait.is_some(), flag("retry").unwrap(), "{name}");
        let Some(wait) = wait else { continue };
        let is_close =
            |ours: Duration, expected: Duration| ours.abs_diff(expected) < Duration::from_millis(1);
        assert!(
            is_close(wait.min, seconds("wait_min").unwrap()),
            "{name}: {wait:?}"
        );
        assert!(
            is_close(wait.max, seconds("wait_max").unwrap()),
            "{name}: {wait:?}"
        );
    }
}
