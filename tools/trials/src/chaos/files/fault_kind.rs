//! The kinds of faults of an upload.

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

/// How often each occurs in as many uploads as all counts together.
const COUNTS: [(UploadFaultKind, usize); 18] = [
    (UploadFaultKind::Plain, 12),
    (UploadFaultKind::WrongBytes, 2),
    (UploadFaultKind::WrongType, 1),
    (UploadFaultKind::Infected, 1),
    (UploadFaultKind::HalfForm, 2),
    (UploadFaultKind::CompletedTwice, 3),
    (UploadFaultKind::Overwritten, 3),
    (UploadFaultKind::Replayed, 3),
    (UploadFaultKind::Deleted, 2),
    (UploadFaultKind::CompletedNearAbandon, 2),
    (UploadFaultKind::Abandoned, 2),
    (UploadFaultKind::Duplicate, 2),
    (UploadFaultKind::Refreshed, 1),
    (UploadFaultKind::ExpiredGrant, 1),
    (UploadFaultKind::Multipart, 1),
    (UploadFaultKind::SwappedParts, 1),
    (UploadFaultKind::MissingPart, 1),
    (UploadFaultKind::OverwrittenPart, 1),
];
const ALL_COUNTS: usize = 41;
/// The steps from one upload to the next in this table: all of its places are visited in turn.
const STEP: usize = 17;

impl UploadFaultKind {
    pub fn nth(turn: usize) -> Self {
        let mut place = turn * STEP % ALL_COUNTS;
        for (kind, count) in COUNTS {
            if place < count {
                return kind;
            }
            place -= count;
        }
        Self::default()
    }

    /// Whether the file is too large for a single form.
    pub const fn is_multipart(self) -> bool {
        matches!(
            self,
            Self::Multipart | Self::SwappedParts | Self::MissingPart | Self::OverwrittenPart
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_occurs_as_often_as_the_table_says() {
        for (kind, count) in COUNTS {
            let turns = 0..ALL_COUNTS;
            let found = turns.filter(|turn| UploadFaultKind::nth(*turn) == kind);
            assert_eq!(found.count(), count, "{kind:?}");
        }
    }
}
