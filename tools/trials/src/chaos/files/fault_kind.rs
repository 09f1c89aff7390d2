//! The kinds of faults of an upload.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UploadFaultKind {
    #[default]
    Plain,
    /// Other bytes of the same size.
    WrongBytes,
    /// Valid bytes of another media type.
    WrongType,
    Infected,
    /// The connection closes in the middle of the form.
    HalfForm,
    /// Two calls of `complete` at the same time.
    CompletedTwice,
    /// The grant is used again while the file is validated, with the same and with other bytes.
    Overwritten,
    /// The grant is used twice before, and once after, `complete`.
    Replayed,
    /// `complete` races with `delete`.
    Deleted,
    /// `complete` races with the sweep that abandons sessions.
    CompletedNearAbandon,
    /// Uploaded and never completed.
    Abandoned,
    /// The same bytes twice; the first file is deleted meanwhile.
    Duplicate,
    /// The grant is refreshed and used.
    Refreshed,
    /// The grant is used after it has expired.
    ExpiredGrant,
    Multipart,
    /// Two parts are listed in each other's place.
    SwappedParts,
    /// A part is listed that was never uploaded.
    MissingPart,
    /// A part is uploaded again with other bytes while the file is validated.
    OverwrittenPart,
}

/// The order of uploads, repeated.
const SEQUENCE: [UploadFaultKind; 41] = [
    UploadFaultKind::Plain,
    UploadFaultKind::CompletedTwice,
    UploadFaultKind::Overwritten,
    UploadFaultKind::Plain,
    UploadFaultKind::WrongBytes,
    UploadFaultKind::Replayed,
    UploadFaultKind::Multipart,
    UploadFaultKind::Plain,
    UploadFaultKind::Abandoned,
    UploadFaultKind::CompletedNearAbandon,
    UploadFaultKind::Plain,
    UploadFaultKind::Deleted,
    UploadFaultKind::HalfForm,
    UploadFaultKind::Plain,
    UploadFaultKind::Duplicate,
    UploadFaultKind::CompletedTwice,
    UploadFaultKind::ExpiredGrant,
    UploadFaultKind::Overwritten,
    UploadFaultKind::Plain,
    UploadFaultKind::WrongType,
    UploadFaultKind::SwappedParts,
    UploadFaultKind::Plain,
    UploadFaultKind::Replayed,
    UploadFaultKind::Infected,
    UploadFaultKind::Plain,
    UploadFaultKind::Deleted,
    UploadFaultKind::Refreshed,
    UploadFaultKind::MissingPart,
    UploadFaultKind::Plain,
    UploadFaultKind::Abandoned,
    UploadFaultKind::CompletedNearAbandon,
    UploadFaultKind::Plain,
    UploadFaultKind::Overwritten,
    UploadFaultKind::WrongBytes,
    UploadFaultKind::OverwrittenPart,
    UploadFaultKind::Plain,
    UploadFaultKind::CompletedTwice,
    UploadFaultKind::Duplicate,
    UploadFaultKind::Plain,
    UploadFaultKind::HalfForm,
    UploadFaultKind::Replayed,
];

impl UploadFaultKind {
    pub fn nth(turn: usize) -> Self {
        SEQUENCE
            .get(turn % SEQUENCE.len())
            .copied()
            .unwrap_or_default()
    }

    /// Whether the file is too large for a single form.
    pub const fn is_multipart(self) -> bool {
        matches!(
            self,
            Self::Multipart | Self::SwappedParts | Self::MissingPart | Self::OverwrittenPart
        )
    }
}

impl fmt::Display for UploadFaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}
