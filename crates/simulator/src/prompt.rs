//! The text of a request in the order in which a provider caches it.

use chrono::TimeDelta;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// How long a cache keeps a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheLifetime {
    FiveMinutes,
    ThirtyMinutes,
    OneHour,
    TwelveHours,
}

impl CacheLifetime {
    pub const fn duration(self) -> TimeDelta {
        match self {
            Self::FiveMinutes => TimeDelta::minutes(5),
            Self::ThirtyMinutes => TimeDelta::minutes(30),
            Self::OneHour => TimeDelta::hours(1),
            Self::TwelveHours => TimeDelta::hours(12),
        }
    }

    /// Whether a write costs more.
    pub const fn is_long(self) -> bool {
        match self {
            Self::FiveMinutes | Self::ThirtyMinutes => false,
            Self::OneHour | Self::TwelveHours => true,
        }
    }
}

/// The end of a prefix that the provider caches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheMark {
    /// The SHA-256 of the prefix.
    pub prefix: String,
    pub tokens: u64,
    pub lifetime: CacheLifetime,
}

/// Collects the text of a request.
#[derive(Debug, Default)]
pub struct PromptText {
    bytes: usize,
    /// None: the request has no marks, and hashing it would only cost time.
    digest: Option<Sha256>,
    marks: Vec<CacheMark>,
    min_tokens: u64,
}

impl PromptText {
    /// Shorter prefixes than `min_tokens` are not cached. Prompts with another `key` share no cache.
    pub fn with_marks(key: &str, min_tokens: u64) -> Self {
        let mut digest = Sha256::new();
        digest.update(key.as_bytes());
        digest.update(b"\0");
        Self {
            digest: Some(digest),
            min_tokens,
            ..Self::default()
        }
    }

    pub fn add(&mut self, text: &str) {
        self.bytes += text.len();
        if let Some(digest) = &mut self.digest {
            digest.update(text.as_bytes());
            digest.update(b"\0");
        }
    }

    pub fn add_all(&mut self, texts: &[&str]) {
        for text in texts {
            self.add(text);
        }
    }

    /// Adds the JSON text, in the order of its keys.
    pub fn add_json(&mut self, value: &Value) {
        self.add(&value.to_string());
    }

    /// Ends a prefix here.
    pub fn mark(&mut self, lifetime: CacheLifetime) {
        let tokens = u64::try_from(self.bytes / 4).unwrap_or(u64::MAX);
        if let Some(digest) = self.digest.clone().filter(|_| tokens >= self.min_tokens) {
            self.marks.push(CacheMark {
                prefix: hex::encode(digest.finalize()),
                tokens,
                lifetime,
            });
        }
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn into_marks(self) -> Vec<CacheMark> {
        self.marks
    }
}

/// Whether any object inside the value has this field.
pub fn mentions(value: &Value, field: &str) -> bool {
    match value {
        Value::Object(fields) => {
            fields.contains_key(field) || fields.values().any(|it| mentions(it, field))
        }
        Value::Array(items) => items.iter().any(|it| mentions(it, field)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
