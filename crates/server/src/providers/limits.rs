//! The limits of an account, and each shard's share of them.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use serde::Serialize;
use workers::AccountShare;

use crate::entry_errors::EntryErrors;
use crate::providers::entry::{ProviderLimitsEntry, SizeEntry};
use crate::providers::preset::AccountKind;

/// More tokens than any provider queues.
const MAX_TOKENS: i64 = 1_000_000_000_000_000;
const MAX_QUESTIONS: i64 = 10_000;
const DEFAULT_QUESTIONS: u64 = 64;
/// A new job appears in the provider's list within seconds; a longer grace rarely helps.
const MAX_GRACE_SECONDS: i64 = 86_400;
const DEFAULT_GRACE_SECONDS: u64 = 60;
const MAX_LINGER_SECONDS: i64 = 86_400;
const MAX_CREATE_SECONDS: i64 = 86_400;
/// With this default a lane stays far below the strictest provider limit, 2,000 jobs an hour.
const DEFAULT_LINGER_SECONDS: u64 = 60;
/// Decimal units, as providers count: 200 MB are 200,000,000 bytes.
const SIZE_UNITS: [(&str, i64); 4] = [
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("B", 1),
];

/// The limits of the whole account. None means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ProviderLimits {
    pub job_items: u64,
    pub job_bytes: u64,
    pub job_tokens: Option<u64>,
    pub enqueued_tokens: Option<u64>,
    pub questions: u64,
    pub linger_seconds: u64,
    pub grace_seconds: u64,
    pub create_seconds: u64,
}

impl ProviderLimits {
    pub(super) fn validate(
        entry: &ProviderLimitsEntry,
        kind: AccountKind,
        errors: &mut EntryErrors<'_>,
    ) -> Self {
        let signed = |max: u64| i64::try_from(max).unwrap_or(i64::MAX);
        let mut whole = |field: &str, value, max| {
            errors.whole_number(&format!("limits.{field}"), value, 1..=max)
        };
        let job_items = whole("job_items", entry.job_items, signed(kind.max_job_items()));
        let job_tokens = whole("job_tokens", entry.job_tokens, MAX_TOKENS);
        let enqueued_tokens = whole("enqueued_tokens", entry.enqueued_tokens, MAX_TOKENS);
        let questions = whole("questions", entry.questions, MAX_QUESTIONS);
        let linger_seconds = whole("linger_seconds", entry.linger_seconds, MAX_LINGER_SECONDS);
        let grace_seconds = whole("grace_seconds", entry.grace_seconds, MAX_GRACE_SECONDS);
        let create_seconds = whole("create_seconds", entry.create_seconds, MAX_CREATE_SECONDS);
        let job_bytes = parse_job_bytes(
            entry.job_bytes.as_ref(),
            signed(kind.max_job_bytes()),
            errors,
        );
        Self {
            job_items: job_items.unwrap_or(kind.max_job_items()),
            job_bytes: job_bytes.unwrap_or(kind.max_job_bytes()),
            job_tokens,
            enqueued_tokens: enqueued_tokens.or(kind.default_enqueued_tokens()),
            questions: questions.unwrap_or(DEFAULT_QUESTIONS),
            linger_seconds: linger_seconds.unwrap_or(DEFAULT_LINGER_SECONDS),
            grace_seconds: grace_seconds.unwrap_or(DEFAULT_GRACE_SECONDS),
            create_seconds: create_seconds.unwrap_or(kind.adapter.default_create_seconds()),
        }
    }

    /// Each shard's share, by weight. Limits per job apply to every shard. Limits of the account
    /// are divided exactly, so that all shards together respect them.
    pub(super) fn divide(
        &self,
        weights: &BTreeMap<String, u64>,
        errors: &mut EntryErrors<'_>,
    ) -> BTreeMap<String, AccountShare> {
        let all: u64 = weights.values().sum();
        let part = |whole: u64, before: u64, after: u64| {
            scale(whole, after, all) - scale(whole, before, all)
        };
        let mut shares = BTreeMap::new();
        let mut before = 0;
        for (shard, weight) in weights {
            let after = before + weight;
            let questions = part(self.questions, before, after);
            let enqueued = self.enqueued_tokens.map(|it| part(it, before, after));
            before = after;
            for (field, is_none) in [
                ("questions", questions == 0),
                ("enqueued_tokens", enqueued == Some(0)),
            ] {
                if is_none {
                    errors.add(&format!(
                        "limits.{field} is too small: shard `{shard}` would get 0; raise it, or \
                         remove the shard from shards"
                    ));
                }
            }
            shares.insert(shard.clone(), self.share(questions, enqueued));
        }
        shares
    }

    fn share(&self, questions: u64, enqueued: Option<u64>) -> AccountShare {
        let unlimited = MAX_TOKENS.unsigned_abs();
        let enqueued = enqueued.unwrap_or(unlimited);
        AccountShare {
            max_items: usize::try_from(self.job_items).unwrap_or(usize::MAX),
            max_bytes: self.job_bytes,
            // A job above the limit of enqueued tokens could never be submitted.
            max_tokens: self.job_tokens.unwrap_or(unlimited).min(enqueued),
            max_enqueued_tokens: enqueued,
            max_concurrent_requests: usize::try_from(questions).unwrap_or(usize::MAX),
            linger: seconds(self.linger_seconds),
            grace: seconds(self.grace_seconds),
            create_timeout: seconds(self.create_seconds),
        }
    }
}

fn seconds(seconds: u64) -> TimeDelta {
    TimeDelta::seconds(i64::try_from(seconds).unwrap_or(MAX_GRACE_SECONDS))
}

/// `whole` times `part` of `all`, rounded down.
fn scale(whole: u64, part: u64, all: u64) -> u64 {
    let scaled = u128::from(whole) * u128::from(part) / u128::from(all.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

fn parse_job_bytes(
    value: Option<&SizeEntry>,
    max: i64,
    errors: &mut EntryErrors<'_>,
) -> Option<u64> {
    let field = "limits.job_bytes";
    let bytes = match value? {
        SizeEntry::Bytes(bytes) => Some(*bytes),
        SizeEntry::Text(text) => parse_size(text),
        SizeEntry::Other(_) => None,
    };
    if bytes.is_none() {
        let text = format!("{field} is not a number or a size such as \"200 MB\"");
        errors.add(&text);
    }
    errors.whole_number(field, bytes, 1..=max)
}

fn parse_size(text: &str) -> Option<i64> {
    let text = text.trim();
    let (number, unit) = SIZE_UNITS
        .iter()
        .find_map(|(unit, bytes)| Some((text.strip_suffix(unit)?, bytes)))?;
    let number: i64 = number.trim().parse().ok()?;
    number.checked_mul(*unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_a_unit() {
        for (text, bytes) in [
            ("200 MB", Some(200_000_000)),
            ("2GB", Some(2_000_000_000)),
            ("10 KB", Some(10_000)),
            ("7 B", Some(7)),
            ("-7 B", Some(-7)),
            ("200", None),
            ("MB", None),
            ("200 MiB", None),
            ("1.5 MB", None),
            ("9999999999999 GB", None),
        ] {
            assert_eq!(parse_size(text), bytes, "{text}");
        }
    }

    #[test]
    fn shares_add_up_to_the_whole() {
        let limits = ProviderLimits {
            job_items: 100,
            job_bytes: 1_000,
            job_tokens: None,
            enqueued_tokens: Some(2_000_003),
            questions: 7,
            linger_seconds: 60,
            grace_seconds: 60,
            create_seconds: 60,
        };
        let weights = [("a", 3), ("b", 1), ("c", 2)];
        let weights = weights.map(|(name, weight)| (name.to_owned(), weight));
        let mut faults = Vec::new();
        let mut errors = EntryErrors::for_entry("provider", "p", &mut faults);
        let shares = limits.divide(&BTreeMap::from(weights), &mut errors);
        let tokens: Vec<_> = shares.values().map(|it| it.max_enqueued_tokens).collect();
        assert_eq!(tokens, [1_000_001, 333_334, 666_668]);
        assert_eq!(tokens.iter().sum::<u64>(), 2_000_003);
        let questions: Vec<_> = shares
            .values()
            .map(|it| it.max_concurrent_requests)
            .collect();
        assert_eq!(questions, [3, 1, 3]);
        let job = shares
            .values()
            .all(|it| it.max_items == 100 && it.max_tokens <= 1_000_001);
        assert!(job);
        assert_eq!(faults, [""; 0]);
    }
}
