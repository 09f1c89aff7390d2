//! What may happen to an upload.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Plot {
    #[default]
    Plain,
    /// Other bytes of the same size.
    WrongBytes,
    /// Good bytes of another media type.
    WrongType,
    Infected,
    /// The form breaks off half-way.
    Half,
    /// Two completes at once.
    Twice,
    /// The grant is used again, with these and with other bytes, while it is verified.
    Overwritten,
    /// The grant is used again before and after.
    Replayed,
    /// Complete against delete.
    Deleted,
    /// Complete against the sweep that abandons.
    Overdue,
    /// Uploaded and never completed.
    Abandoned,
    /// The same bytes twice, and the first is deleted meanwhile.
    Duplicate,
    /// The grant is refreshed and used.
    Refreshed,
    /// The grant is used when it is no longer valid.
    Late,
    Parts,
    /// Parts listed in each other's place.
    SwappedParts,
    /// A part that was never brought.
    MissingPart,
    /// A part is brought again, with other bytes, while it is verified.
    OverwrittenPart,
}

/// In this order, again and again.
const TURNS: [Plot; 41] = [
    Plot::Plain,
    Plot::Twice,
    Plot::Overwritten,
    Plot::Plain,
    Plot::WrongBytes,
    Plot::Replayed,
    Plot::Parts,
    Plot::Plain,
    Plot::Abandoned,
    Plot::Overdue,
    Plot::Plain,
    Plot::Deleted,
    Plot::Half,
    Plot::Plain,
    Plot::Duplicate,
    Plot::Twice,
    Plot::Late,
    Plot::Overwritten,
    Plot::Plain,
    Plot::WrongType,
    Plot::SwappedParts,
    Plot::Plain,
    Plot::Replayed,
    Plot::Infected,
    Plot::Plain,
    Plot::Deleted,
    Plot::Refreshed,
    Plot::MissingPart,
    Plot::Plain,
    Plot::Abandoned,
    Plot::Overdue,
    Plot::Plain,
    Plot::Overwritten,
    Plot::WrongBytes,
    Plot::OverwrittenPart,
    Plot::Plain,
    Plot::Twice,
    Plot::Duplicate,
    Plot::Plain,
    Plot::Half,
    Plot::Replayed,
];

impl Plot {
    pub fn of_turn(turn: usize) -> Self {
        TURNS.get(turn % TURNS.len()).copied().unwrap_or_default()
    }

    /// More than fits one form.
    pub const fn has_parts(self) -> bool {
        matches!(
            self,
            Self::Parts | Self::SwappedParts | Self::MissingPart | Self::OverwrittenPart
        )
    }
}

impl fmt::Display for Plot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}
