//! Batches in the formats of other providers, and the limits of those formats.

use chrono::TimeDelta;

/// Whose format a batch has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Facade {
    Anthropic,
    OpenAi,
}

impl Facade {
    /// As it is stored.
    pub const fn code(self) -> i16 {
        match self {
            Self::Anthropic => 1,
            Self::OpenAi => 2,
        }
    }

    pub const fn from_code(code: i16) -> Option<Self> {
        match code {
            1 => Some(Self::Anthropic),
            2 => Some(Self::OpenAi),
            _ => None,
        }
    }

    /// For metrics and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
        }
    }

    /// The most items of one batch.
    pub const fn max_items(self) -> u64 {
        match self {
            Self::Anthropic => 100_000,
            Self::OpenAi => 50_000,
        }
    }

    /// The most bytes of one body, or of one input file.
    pub const fn max_bytes(self) -> u64 {
        match self {
            Self::Anthropic => 256 << 20,
            Self::OpenAi => 200 << 20,
        }
    }
}

/// How long a batch may take.
pub const BATCH_WINDOW: TimeDelta = TimeDelta::hours(24);
/// How long the same request is the same batch, if the client says that it sends it again.
pub const RETRY_WINDOW: TimeDelta = TimeDelta::minutes(10);
/// How long an `Idempotency-Key` names the same batch.
pub const IDEMPOTENCY_WINDOW: TimeDelta = TimeDelta::hours(24);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_codes_are_read_as_they_were_written() {
        for facade in [Facade::Anthropic, Facade::OpenAi] {
            assert_eq!(Facade::from_code(facade.code()), Some(facade));
        }
        assert_eq!(Facade::from_code(0), None);
    }
}
