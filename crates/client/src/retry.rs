//! Whether a failed request is repeated, and when: the same rule in every client.
//!
//! `clients/retry_cases.toml` has examples. The budget of time is not part of the rule.

use std::time::Duration;

use crate::error_entry::{ErrorEntry, RetryRule};
use crate::error_table::ERROR_TABLE;

const BACKOFF_BASE: Duration = Duration::from_millis(500);
const MAX_BACKOFF: Duration = Duration::from_secs(30);
const SLOW_BACKOFF_BASE: Duration = Duration::from_secs(1);
const MAX_SLOW_BACKOFF: Duration = Duration::from_mins(1);
/// Doubling more often than this only reaches the maximum again.
const MAX_DOUBLINGS: u32 = 16;
const REQUEST_TIMEOUT_STATUS: u16 = 408;
const FIRST_SERVER_ERROR: u16 = 500;

/// A request that did not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedRequest<'a> {
    pub method: &'a str,
    /// Whether the request has an idempotency key, or each of its items has one.
    pub has_idempotency_key: bool,
    /// Whether the route is idempotent by nature, such as cancel, seal or wait.
    pub is_idempotent: bool,
    /// Whether any byte of the request may have reached the server.
    pub was_sent: bool,
    /// None if there was no answer.
    pub status: Option<u16>,
    pub code: Option<&'a str>,
    pub retry_after: Option<Duration>,
    /// Of the header `x-should-retry`.
    pub should_retry: Option<bool>,
    /// How many retries there were before.
    pub attempt: u32,
}

/// The wait before the next attempt is drawn evenly between the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryWait {
    pub min: Duration,
    pub max: Duration,
}

/// None: the request is not repeated.
pub fn decide(request: &FailedRequest<'_>) -> Option<RetryWait> {
    let Some(status) = request.status else {
        let is_safe = !request.was_sent || is_repeatable(request);
        return is_safe.then(|| backoff(request.attempt));
    };
    let rule = match (rule_of(status, request.code), request.should_retry) {
        (_, Some(false)) | (RetryRule::Never, None) => return None,
        (RetryRule::Never, Some(true)) => RetryRule::Backoff,
        (rule, _) => rule,
    };
    // Only a refusal says for certain that nothing was stored.
    let may_be_stored = status == REQUEST_TIMEOUT_STATUS || status >= FIRST_SERVER_ERROR;
    if may_be_stored && !is_repeatable(request) {
        return None;
    }
    match (rule, request.retry_after) {
        (RetryRule::Never, _) => None,
        (RetryRule::SlowBackoff | RetryRule::RetryAfter, Some(after)) => Some(RetryWait {
            min: after.mul_f64(0.9),
            max: after.mul_f64(1.1),
        }),
        (RetryRule::SlowBackoff, None) => Some(slow_backoff(request.attempt)),
        (RetryRule::Backoff, _) | (RetryRule::RetryAfter, None) => Some(backoff(request.attempt)),
    }
}

/// The entry of the table for an answer. An unknown code has the entry of its status.
pub fn find_entry(status: u16, code: Option<&str>) -> Option<&'static ErrorEntry> {
    let exact = ERROR_TABLE
        .iter()
        .find(|entry| entry.status == status && entry.code == code);
    let of_status = || {
        ERROR_TABLE
            .iter()
            .find(|entry| entry.status == status && entry.code.is_none())
    };
    exact.or_else(of_status)
}

fn rule_of(status: u16, code: Option<&str>) -> RetryRule {
    match find_entry(status, code) {
        Some(entry) => entry.rule,
        None if status >= FIRST_SERVER_ERROR => RetryRule::Backoff,
        None => RetryRule::Never,
    }
}

fn is_repeatable(request: &FailedRequest<'_>) -> bool {
    request.has_idempotency_key
        || request.is_idempotent
        || matches!(request.method, "GET" | "HEAD" | "PUT" | "DELETE")
}

fn backoff(attempt: u32) -> RetryWait {
    full_jitter(BACKOFF_BASE, MAX_BACKOFF, attempt)
}

fn slow_backoff(attempt: u32) -> RetryWait {
    full_jitter(SLOW_BACKOFF_BASE, MAX_SLOW_BACKOFF, attempt)
}

fn full_jitter(base: Duration, limit: Duration, attempt: u32) -> RetryWait {
    let doubled = base.saturating_mul(1 << attempt.min(MAX_DOUBLINGS));
    RetryWait {
        min: Duration::ZERO,
        max: doubled.min(limit),
    }
}
