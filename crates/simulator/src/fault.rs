//! What can be made to go wrong: the names of faults, their parameters, and when they fire.

use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// See `docs/simulator.md` for what each does and where it acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Name {
    // Creating a job.
    #[serde(rename = "create_500_before")]
    Create500Before,
    #[serde(rename = "create_500_after")]
    Create500After,
    CreateDropBefore,
    CreateDropAfter,
    CreateDropBody,
    CreateHangAfter,
    #[serde(rename = "create_429")]
    Create429,
    #[serde(rename = "create_503")]
    Create503,
    #[serde(rename = "create_529")]
    Create529,
    #[serde(rename = "create_413_html")]
    Create413Html,
    OutOfFunds,
    TokenLimit,
    EnqueuedLimit,
    CreatesPerHour,
    // Any call.
    Unauthorized,
    Rpm,
    Stall,
    // What is there but not seen.
    ListLag,
    FileLag,
    FileProcessing,
    FileFailed,
    Vanish,
    // How a job goes.
    Stuck,
    LongFinalizing,
    ExpirePartial,
    ValidationFailed,
    AllFail,
    CancelMixed,
    EmptyErrorFileId,
    // What its results look like.
    Shuffle,
    DuplicateLines,
    MissingLines,
    UnknownLines,
    BlankLines,
    UsageMissing,
    UsageAbsurd,
    SafetyBlock,
    InlineAnswer,
    StatusInsteadOfError,
    MetadataMissing,
    // Asking about a job, and fetching results.
    #[serde(rename = "poll_500")]
    Poll500,
    #[serde(rename = "poll_429")]
    Poll429,
    #[serde(rename = "list_500")]
    List500,
    RetryAfter,
    #[serde(rename = "download_500")]
    Download500,
    TruncateDownload,
    ResultsGone,
    // Realtime.
    Hang,
    #[serde(rename = "busy_503")]
    Busy503,
    #[serde(rename = "context_400")]
    Context400,
    Dead,
    Slow,
    Drop,
}

impl Name {
    /// Faults that a job takes along when it is created.
    pub const OF_JOBS: [Self; 19] = [
        Self::TokenLimit,
        Self::Stuck,
        Self::LongFinalizing,
        Self::ExpirePartial,
        Self::ValidationFailed,
        Self::AllFail,
        Self::CancelMixed,
        Self::EmptyErrorFileId,
        Self::Shuffle,
        Self::DuplicateLines,
        Self::MissingLines,
        Self::UnknownLines,
        Self::BlankLines,
        Self::UsageMissing,
        Self::UsageAbsurd,
        Self::SafetyBlock,
        Self::InlineAnswer,
        Self::StatusInsteadOfError,
        Self::MetadataMissing,
    ];
}

/// One fault of an account. Parameters that a name does not know are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    pub name: Name,
    /// How often it fires; until it is cleared unless told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// Fires only now and then: 3 is at each third occasion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Of calls, creations, tokens or lines, as the name says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Of requests that wait, where tokens are limited too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip)]
    occasions: u32,
}

impl Fault {
    /// The fault with no parameters, until it is cleared.
    pub fn of(name: Name) -> Self {
        Self {
            name,
            times: None,
            every: None,
            seconds: None,
            ms: None,
            status: None,
            limit: None,
            requests: None,
            line: None,
            code: None,
            message: None,
            occasions: 0,
        }
    }

    pub fn once(name: Name) -> Self {
        Self::of(name).times(1)
    }

    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    #[must_use]
    pub fn seconds(mut self, seconds: u32) -> Self {
        self.seconds = Some(seconds);
        self
    }

    #[must_use]
    pub fn limit(mut self, limit: u64) -> Self {
        self.limit = Some(limit);
        self
    }

    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// The line that is wrong, counted from 1.
    #[must_use]
    pub fn line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// How many lines it concerns.
    pub(crate) fn lines(&self) -> usize {
        usize::try_from(self.limit.unwrap_or(1)).unwrap_or(usize::MAX)
    }
}

/// The faults of one account.
#[derive(Debug, Default)]
pub struct Faults(Vec<Fault>);

impl Faults {
    pub fn set(&mut self, faults: Vec<Fault>) {
        self.0 = faults;
    }

    pub fn add(&mut self, faults: Vec<Fault>) {
        self.0.extend(faults);
    }

    pub fn all(&self) -> &[Fault] {
        &self.0
    }

    /// The fault, if it is there, without using it up.
    pub fn seen(&self, name: Name) -> Option<&Fault> {
        self.0.iter().find(|fault| fault.name == name)
    }

    /// The fault, if it fires now.
    pub fn fire(&mut self, name: Name) -> Option<Fault> {
        let place = self.0.iter().position(|fault| fault.name == name)?;
        let fault = self.0.get_mut(place)?;
        fault.occasions = fault.occasions.wrapping_add(1);
        if let Some(every) = fault.every.filter(|every| *every > 0)
            && !fault.occasions.is_multiple_of(every)
        {
            return None;
        }
        let fired = fault.clone();
        match fault.times {
            None => {}
            Some(0) => {
                self.0.remove(place);
                return None;
            }
            Some(1) => {
                self.0.remove(place);
            }
            Some(more) => fault.times = Some(more - 1),
        }
        Some(fired)
    }
}
