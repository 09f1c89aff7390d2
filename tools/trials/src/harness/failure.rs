//! Why a trial could not run. A broken promise is part of the verdict, not a failure.

use std::fmt;

/// One sentence with its causes.
#[derive(Debug)]
pub struct TrialFailure(String);

pub type Result<T> = std::result::Result<T, TrialFailure>;

impl TrialFailure {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for TrialFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TrialFailure {}

/// Adds what the trial was doing when it failed, or says what is missing.
pub trait FailureContext<T> {
    fn context(self, what: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> FailureContext<T> for std::result::Result<T, E> {
    fn context(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|cause| TrialFailure(format!("{what}: {cause}")))
    }
}

impl<T> FailureContext<T> for Option<T> {
    fn context(self, what: impl fmt::Display) -> Result<T> {
        self.ok_or_else(|| TrialFailure(what.to_string()))
    }
}
