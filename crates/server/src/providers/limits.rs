//! How much an account may be given, and what of it each shard may have.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use serde::Serialize;
use workers::Share;

use crate::notes::Notes;
use crate::providers::entry::{LimitsEntry, Size};
use crate::providers::kind::Kind;

/// More tokens than ever wait anywhere.
const MOST_TOKENS: i64 = 1_000_000_000_000_000;
const MOST_QUESTIONS: i64 = 10_000;
const USUAL_QUESTIONS: u64 = 64;
/// Jobs show in lists within seconds. An hour of looking in vain is no better than a minute.
const MOST_GRACE: i64 = 86_400;
const USUAL_GRACE: u64 = 60;
const MOST_LINGER: i64 = 86_400;
const MAX_CREATE_SECONDS: i64 = 86_400;
/// A lane creates so few jobs that no provider minds: the strictest allows 2,000 an hour.
const USUAL_LINGER: u64 = 60;
/// As providers count: their 200 MB are not 200 times 2^20.
const UNITS: [(&str, i64); 4] = [
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("B", 1),
];

/// Of the whole account. Nothing is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Limits {
    pub job_items: u64,
    pub job_bytes: u64,
    pub job_tokens: Option<u64>,
    pub enqueued_tokens: Option<u64>,
    pub questions: u64,
    pub linger_seconds: u64,
    pub grace_seconds: u64,
    pub create_seconds: u64,
}

impl Limits {
    pub(super) fn checked(entry: &LimitsEntry, kind: Kind, notes: &mut Notes<'_>) -> Self {
        let most = |most: u64| i64::try_from(most).unwrap_or(i64::MAX);
        let mut whole =
            |field: &str, given, most| notes.whole(&format!("limits.{field}"), given, 1..=most);
        let job_items = whole("job_items", entry.job_items, most(kind.most_items()));
        let job_tokens = whole("job_tokens", entry.job_tokens, MOST_TOKENS);
        let enqueued_tokens = whole("enqueued_tokens", entry.enqueued_tokens, MOST_TOKENS);
        let questions = whole("questions", entry.questions, MOST_QUESTIONS);
        let linger_seconds = whole("linger_seconds", entry.linger_seconds, MOST_LINGER);
        let grace_seconds = whole("grace_seconds", entry.grace_seconds, MOST_GRACE);
        let create_seconds = whole("create_seconds", entry.create_seconds, MAX_CREATE_SECONDS);
        let job_bytes = bytes(entry.job_bytes.as_ref(), most(kind.most_bytes()), notes);
        Self {
            job_items: job_items.unwrap_or(kind.most_items()),
            job_bytes: job_bytes.unwrap_or(kind.most_bytes()),
            job_tokens,
            enqueued_tokens: enqueued_tokens.or(kind.usual_enqueued_tokens()),
            questions: questions.unwrap_or(USUAL_QUESTIONS),
            linger_seconds: linger_seconds.unwrap_or(USUAL_LINGER),
            grace_seconds: grace_seconds.unwrap_or(USUAL_GRACE),
            create_seconds: create_seconds.unwrap_or(kind.usual_create_seconds()),
        }
    }

    /// What each shard may have, by the weights. What is of one job is every shard's; what is
    /// of the account is divided to the last token, so that all shards together keep to it.
    pub(super) fn divided(
        &self,
        weights: &BTreeMap<String, u64>,
        notes: &mut Notes<'_>,
    ) -> BTreeMap<String, Share> {
        let all: u64 = weights.values().sum();
        let part = |whole: u64, before: u64, after: u64| {
            scaled(whole, after, all) - scaled(whole, before, all)
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
                    notes.fault(&format!(
                        "limits.{field} leave nothing for shard `{shard}`; raise them, or leave \
                         the shard out of shards"
                    ));
                }
            }
            shares.insert(shard.clone(), self.share(questions, enqueued));
        }
        shares
    }

    fn share(&self, questions: u64, enqueued: Option<u64>) -> Share {
        let unlimited = MOST_TOKENS.unsigned_abs();
        let enqueued = enqueued.unwrap_or(unlimited);
        Share {
            most_items: usize::try_from(self.job_items).unwrap_or(usize::MAX),
            most_bytes: self.job_bytes,
            // A job that is larger than all that may wait would never leave.
            most_tokens: self.job_tokens.unwrap_or(unlimited).min(enqueued),
            most_enqueued_tokens: enqueued,
            most_questions: usize::try_from(questions).unwrap_or(usize::MAX),
            linger: seconds(self.linger_seconds),
            grace: seconds(self.grace_seconds),
            create_timeout: seconds(self.create_seconds),
        }
    }
}

fn seconds(seconds: u64) -> TimeDelta {
    TimeDelta::seconds(i64::try_from(seconds).unwrap_or(MOST_GRACE))
}

/// `whole` times `part` of `all`, rounded down.
fn scaled(whole: u64, part: u64, all: u64) -> u64 {
    let scaled = u128::from(whole) * u128::from(part) / u128::from(all.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

fn bytes(given: Option<&Size>, most: i64, notes: &mut Notes<'_>) -> Option<u64> {
    let field = "limits.job_bytes";
    let bytes = match given? {
        Size::Bytes(bytes) => Some(*bytes),
        Size::Text(text) => size(text),
        Size::Other(_) => None,
    };
    if bytes.is_none() {
        let text = format!("{field} is neither a number nor a size such as \"200 MB\"");
        notes.fault(&text);
    }
    notes.whole(field, bytes, 1..=most)
}

fn size(text: &str) -> Option<i64> {
    let text = text.trim();
    let (number, unit) = UNITS
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
            assert_eq!(size(text), bytes, "{text}");
        }
    }

    #[test]
    fn shares_add_up_to_the_whole() {
        let limits = Limits {
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
        let mut notes = Notes::of("provider", "p", &mut faults);
        let shares = limits.divided(&BTreeMap::from(weights), &mut notes);
        let tokens: Vec<_> = shares.values().map(|it| it.most_enqueued_tokens).collect();
        assert_eq!(tokens, [1_000_001, 333_334, 666_668]);
        assert_eq!(tokens.iter().sum::<u64>(), 2_000_003);
        let questions: Vec<_> = shares.values().map(|it| it.most_questions).collect();
        assert_eq!(questions, [3, 1, 3]);
        let job = shares
            .values()
            .all(|it| it.most_items == 100 && it.most_tokens <= 1_000_001);
        assert!(job);
        assert_eq!(faults, [""; 0]);
    }
}
