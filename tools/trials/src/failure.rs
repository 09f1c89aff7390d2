//! Why a trial could not be carried out; a broken promise is a verdict, not a failure.

use std::fmt;

/// One sentence, with its causes behind it.
#[derive(Debug)]
pub struct Failure(String);

pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

/// Says what was being done when it failed.
pub trait During<T> {
    fn during(self, what: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> During<T> for std::result::Result<T, E> {
    fn during(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|cause| Failure(format!("{what}: {cause}")))
    }
}
