//! What is found in a file's bytes, what that comes to, and what follows when nothing could be found.

use chrono::TimeDelta;

use crate::batch::MOST_TAKEOVERS;
use crate::file::{Flaw, Structure};
use crate::time::Timestamp;
use crate::upload::{Form, part_bytes};

#[cfg(test)]
mod tests;

/// So often may the scanner be late or unclear about a file.
pub const MOST_TRIES: u32 = 3;
/// So long may a file be validating. What keeps it longer than a day will not go away.
pub const LONGEST_VALIDATING: TimeDelta = TimeDelta::hours(24);
/// From this on a file is large and waits for one of the few slots of such files.
pub const LARGE_BYTES: u64 = 50 << 20;

const SHORTEST_WAIT: TimeDelta = TimeDelta::seconds(1);
const LONGEST_WAIT: TimeDelta = TimeDelta::seconds(30);
/// A file waits for a quarter of the time that it has waited already.
const SHARE: i32 = 4;

/// What is known so far; None where nothing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Findings {
    pub has_its_size: Option<bool>,
    pub has_its_checksum: Option<bool>,
    pub has_its_type: Option<bool>,
    pub structure: Option<Result<Structure, Flaw>>,
    pub scan: Option<Scan>,
}

/// The scanner's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scan {
    Clean,
    Infected,
    /// There is more in it than the scanner looks at.
    LimitExceeded,
}

impl Findings {
    /// The one flaw that a caller is told. What comes first explains what comes after.
    pub fn flaw(&self) -> Option<Flaw> {
        if self.has_its_size == Some(false) {
            return Some(Flaw::SizeMismatch);
        }
        if self.has_its_checksum == Some(false) {
            return Some(Flaw::ChecksumMismatch);
        }
        if self.has_its_type == Some(false) {
            return Some(Flaw::MagicByteMismatch);
        }
        if let Some(Err(flaw)) = self.structure {
            return Some(flaw);
        }
        match self.scan? {
            Scan::Clean => None,
            Scan::Infected => Some(Flaw::MalwareDetected),
            Scan::LimitExceeded => Some(Flaw::ScanLimitExceeded),
        }
    }

    /// What was read, when everything was looked at and all of it is well.
    pub fn sound(&self) -> Option<Structure> {
        let right = self.has_its_size? && self.has_its_checksum? && self.has_its_type?;
        let structure = self.structure?.ok()?;
        (right && self.scan? == Scan::Clean).then_some(structure)
    }
}

/// Do the parts that lie in the store make up the file? `stored` is their numbers and sizes.
pub fn parts(size_bytes: u64, stored: &[(u32, u64)]) -> Result<(), Flaw> {
    let Form::Multipart { parts } = Form::of(size_bytes) else {
        return Err(Flaw::SizeMismatch);
    };
    for number in 1..=parts {
        let Some((_, size)) = stored.iter().find(|(stored, _)| *stored == number) else {
            return Err(Flaw::UploadMissing);
        };
        if Some(*size) != part_bytes(size_bytes, number) {
            return Err(Flaw::SizeMismatch);
        }
    }
    if stored
        .iter()
        .any(|(number, _)| !(1..=parts).contains(number))
    {
        return Err(Flaw::SizeMismatch);
    }
    Ok(())
}

/// Why a file could not be judged this time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hindrance {
    /// The store, the scanner or our own child is not there: no fault of the file.
    Away,
    /// The scanner is there, and was late or unclear about this file.
    Unclear,
}

/// What follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Again { at: Timestamp, counted: bool },
    Fail(Flaw),
}

/// `tries` is how often it was hindered and counted before.
pub fn after(hindrance: Hindrance, tries: u32, completed_at: Timestamp, now: Timestamp) -> Next {
    let counted = hindrance == Hindrance::Unclear;
    let waited = now - completed_at;
    if waited >= LONGEST_VALIDATING || (counted && tries.saturating_add(1) >= MOST_TRIES) {
        return Next::Fail(Flaw::ScanTimeout);
    }
    let wait = (waited / SHARE).clamp(SHORTEST_WAIT, LONGEST_WAIT);
    Next::Again {
        at: now + wait,
        counted,
    }
}

/// Workers died with it so often that it is taken for the cause.
pub fn is_poisonous(takeovers: u32) -> bool {
    i32::try_from(takeovers).unwrap_or(i32::MAX) >= MOST_TAKEOVERS
}
