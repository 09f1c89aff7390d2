//! `clients/errors.toml` has every error that the API can answer, and `clients/retry_cases.toml`
//! follows from it.

use std::collections::{BTreeMap, BTreeSet};

use api::api_error::ErrorCode;
use serde::Deserialize;
use serde_json::Value;

const ERRORS: &str = include_str!("../../../../clients/errors.toml");
const RETRY_CASES: &str = include_str!("../../../../clients/retry_cases.toml");

/// Answers of the server that no route of the description has.
const UNDESCRIBED_STATUSES: [u16; 1] = [405];

/// A status, and the code if the error has one.
type ErrorKey = (u16, Option<String>);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ErrorTable {
    error: Vec<ErrorEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ErrorEntry {
    status: u16,
    code: Option<String>,
    class: String,
    retry: RetryRule,
    advice: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RetryRule {
    No,
    Backoff,
    SlowBackoff,
    RetryAfter,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RetryTable {
    case: Vec<RetryCase>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent input of the decision"
)]
struct RetryCase {
    name: String,
    method: String,
    idempotency_key: bool,
    #[serde(default)]
    idempotent: bool,
    body_sent: bool,
    status: u16,
    code: Option<String>,
    retry_after: Option<f64>,
    should_retry: Option<bool>,
    attempt: i32,
    retry: bool,
    wait_min: Option<f64>,
    wait_max: Option<f64>,
}

fn read_errors() -> Vec<ErrorEntry> {
    toml::from_str::<ErrorTable>(ERRORS).unwrap().error
}

/// The pairs of status and code of all examples in the description. A text has no code.
fn described_errors() -> BTreeSet<ErrorKey> {
    let description = serde_json::to_value(api::docs::openapi_document()).unwrap();
    let mut found = BTreeSet::new();
    for item in description["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            for (status, response) in operation["responses"].as_object().unwrap() {
                let status: u16 = status.parse().unwrap();
                let examples = &response["content"]["application/json"]["examples"];
                let examples = examples.as_object().into_iter().flatten();
                for (_, example) in examples.filter(|_| status >= 400) {
                    let Some(detail) = example["value"].get("detail") else {
                        continue;
                    };
                    let code = detail.get("error").and_then(Value::as_str);
                    found.insert((status, code.map(str::to_owned)));
                }
            }
        }
    }
    found
}

#[test]
fn every_code_of_the_api_is_in_the_table() {
    let listed: Vec<ErrorKey> = read_errors()
        .into_iter()
        .map(|entry| (entry.status, entry.code))
        .collect();
    let unique: BTreeSet<ErrorKey> = listed.iter().cloned().collect();
    assert_eq!(unique.len(), listed.len(), "an error is listed twice");
    let codes = ErrorCode::all();
    let codes: BTreeSet<ErrorKey> = codes
        .map(|code| (code.status().as_u16(), Some(code.as_str().to_owned())))
        .collect();
    let described = described_errors();
    assert!(described.len() > 30, "{described:?}");
    let known: BTreeSet<ErrorKey> = codes.union(&described).cloned().collect();
    let missing: Vec<_> = known.difference(&unique).collect();
    assert!(
        missing.is_empty(),
        "not in clients/errors.toml: {missing:?}"
    );
    let undescribed = UNDESCRIBED_STATUSES.map(|status| (status, None));
    let gone = unique.difference(&known);
    let gone: Vec<_> = gone.filter(|it| !undescribed.contains(it)).collect();
    assert!(gone.is_empty(), "the API never answers {gone:?}");
}

#[test]
fn every_status_with_codes_that_clients_may_not_know_has_a_class() {
    let errors = read_errors();
    let statuses: BTreeSet<u16> = errors.iter().map(|entry| entry.status).collect();
    for status in statuses {
        let has_fallback = |entry: &ErrorEntry| entry.status == status && entry.code.is_none();
        // A conflict always has a code, and is never repeated.
        assert!(status == 409 || errors.iter().any(has_fallback), "{status}");
    }
    for entry in &errors {
        let is_name = entry.class.starts_with(char::is_uppercase) && !entry.class.contains(' ');
        assert!(is_name, "{entry:?}");
        assert!(entry.advice.ends_with('.'), "{entry:?}");
        let is_answered_again = matches!(entry.status, 408 | 429 | 500..=599);
        assert!(
            is_answered_again || entry.retry == RetryRule::No,
            "{entry:?}"
        );
    }
}

/// The rule that every client has.
fn wait_range(
    case: &RetryCase,
    rules: &BTreeMap<ErrorKey, RetryRule>,
) -> Option<std::ops::RangeInclusive<f64>> {
    let backoff = |base: f64, most: f64| Some(0.0..=(base * 2.0_f64.powi(case.attempt)).min(most));
    let after = case.retry_after.map(|it| it * 0.9..=it * 1.1);
    let is_repeatable = case.idempotency_key
        || case.idempotent
        || matches!(case.method.as_str(), "GET" | "PUT" | "DELETE");
    if case.should_retry == Some(false) {
        return None;
    }
    if case.status == 0 {
        return (is_repeatable || !case.body_sent)
            .then(|| backoff(0.5, 30.0))
            .flatten();
    }
    let exact = rules.get(&(case.status, case.code.clone()));
    let rule = exact.or_else(|| rules.get(&(case.status, None)));
    let of_status = if matches!(case.status, 500..=599) {
        RetryRule::Backoff
    } else {
        RetryRule::No
    };
    // A limit was checked before anything was stored.
    let may_repeat = is_repeatable || case.status == 429;
    if !may_repeat {
        return None;
    }
    match rule.copied().unwrap_or(of_status) {
        RetryRule::No => None,
        RetryRule::Backoff => backoff(0.5, 30.0),
        RetryRule::SlowBackoff => after.or_else(|| backoff(1.0, 60.0)),
        RetryRule::RetryAfter => after.or_else(|| backoff(0.5, 30.0)),
    }
}

#[test]
fn the_retry_cases_follow_from_the_table() {
    let errors = read_errors();
    let rules = errors.into_iter();
    let rules = rules.map(|entry| ((entry.status, entry.code), entry.retry));
    let rules: BTreeMap<ErrorKey, RetryRule> = rules.collect();
    let cases = toml::from_str::<RetryTable>(RETRY_CASES).unwrap().case;
    assert!(cases.len() > 30);
    for case in cases {
        let decided = wait_range(&case, &rules);
        assert_eq!(decided.is_some(), case.retry, "{}", case.name);
        let is_close =
            |one: f64, other: Option<f64>| other.is_some_and(|other| (one - other).abs() < 0.001);
        if let Some(wait) = decided {
            assert!(is_close(*wait.start(), case.wait_min), "{}", case.name);
            assert!(is_close(*wait.end(), case.wait_max), "{}", case.name);
        }
    }
}
