//! One row of the table of errors, and the rule by which a client repeats a request.

/// What to do after an answer with this error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryRule {
    Never,
    /// 0.5 s × 2ⁿ up to 30 s, with full jitter.
    Backoff,
    /// `Retry-After` if the answer has it, else 1 s × 2ⁿ up to 60 s, with full jitter.
    SlowBackoff,
    /// `Retry-After`, plus or minus a tenth, else as [`Self::Backoff`].
    RetryAfter,
}

/// An error that the API can answer. An entry without a code is the fallback of its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorEntry {
    pub status: u16,
    pub code: Option<&'static str>,
    pub class: &'static str,
    pub rule: RetryRule,
    /// What a person can do.
    pub advice: &'static str,
}

/// A row of the generated table.
pub(crate) const fn entry(
    status: u16,
    code: Option<&'static str>,
    class: &'static str,
    rule: RetryRule,
    advice: &'static str,
) -> ErrorEntry {
    ErrorEntry {
        status,
        code,
        class,
        rule,
        advice,
    }
}
