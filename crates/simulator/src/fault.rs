//! Faults: their names, their parameters, and when they fire.

use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// `docs/simulator.md` describes each fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultName {
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
    // Hidden jobs and files.
    ListLag,
    FileLag,
    FileProcessing,
    FileFailed,
    Vanish,
    // The course of a job.
    Stuck,
    LongFinalizing,
    ExpirePartial,
    ValidationFailed,
    AllFail,
    CancelMixed,
    EmptyErrorFileId,
    // The results of a job.
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
    // Polling a job, and downloading results.
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
    DeleteIgnored,
    // Realtime.
    Hang,
    #[serde(rename = "busy_503")]
    Busy503,
    #[serde(rename = "context_400")]
    Context400,
    Dead,
    Slow,
    Drop,
    // Realtime calls in the tier flex.
    FlexUnavailable,
    FlexDowngrade,
    FlexSlow,
}

impl FaultName {
    /// Faults that fire when a job is created and then belong to the job.
    pub const JOB_FAULTS: [Self; 19] = [
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

/// One fault of an account. A fault ignores parameters that it does not use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimulatedFault {
    pub name: FaultName,
    /// How often it fires. None: until it is cleared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// 3: fires at every third occasion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// A number of calls, creations, tokens or lines, depending on the fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The limit of enqueued requests, beside the limit of tokens.
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

impl SimulatedFault {
    /// Without parameters. It fires until it is cleared.
    pub fn new(name: FaultName) -> Self {
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

    pub fn once(name: FaultName) -> Self {
        Self::new(name).times(1)
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

    /// The invalid line, counted from 1.
    #[must_use]
    pub fn line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// How many lines it affects.
    pub(crate) fn lines(&self) -> usize {
        usize::try_from(self.limit.unwrap_or(1)).unwrap_or(usize::MAX)
    }
}

/// The faults of one account.
#[derive(Debug, Default)]
pub struct AccountFaults(Vec<SimulatedFault>);

impl AccountFaults {
    pub fn set(&mut self, faults: Vec<SimulatedFault>) {
        self.0 = faults;
    }

    pub fn add(&mut self, faults: Vec<SimulatedFault>) {
        self.0.extend(faults);
    }

    pub fn all(&self) -> &[SimulatedFault] {
        &self.0
    }

    /// The fault, if it is set. Does not fire it.
    pub fn get(&self, name: FaultName) -> Option<&SimulatedFault> {
        self.0.iter().find(|fault| fault.name == name)
    }

    /// The fault, if it fires now.
    pub fn fire(&mut self, name: FaultName) -> Option<SimulatedFault> {
        let index = self.0.iter().position(|fault| fault.name == name)?;
        let fault = self.0.get_mut(index)?;
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
                self.0.remove(index);
                return None;
            }
            Some(1) => {
                self.0.remove(index);
            }
            Some(more) => fault.times = Some(more - 1),
        }
        Some(fired)
    }
}
