//! A cargo: one accepted request, from load to callback.
//!
//! ```text
//! PENDING ─▶ BATCHED ─▶ PROCESSING ─▶ COMPLETED ─▶ callback_delivered
//!    ▲__________|___________|             └──────▶ callback_failed ─▶ callback_delivered
//! ```
//! A callback that failed can be sent again, and then be delivered; a delivered one stays so.
//! A cargo in a batch takes BATCHED or PROCESSING from its batch, so its own
//! row is written only when it is gathered, completed and delivered.

use chrono::TimeDelta;

use crate::batch;
use crate::time::Timestamp;

/// The target, unless the caller sets an earlier deadline. At the deadline, cargo that is not at a
/// provider fails.
pub const CARGO_DEADLINE: TimeDelta = TimeDelta::hours(24);
/// A job with cargo of this age is cancelled at its provider. No cargo is submitted after the
/// deadline, so from this age on no provider works on it.
pub const JOB_CANCEL_AGE: TimeDelta = TimeDelta::hours(25);

/// The six statuses of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CargoStatus {
    Pending,
    Batched,
    Processing,
    Completed,
    Delivered,
    Undeliverable,
}

/// The state of a completed cargo's callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallbackState {
    /// No callback was requested, or it is still being tried.
    Open,
    Delivered,
    Failed,
}

impl CargoStatus {
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::Batched,
        Self::Processing,
        Self::Completed,
        Self::Delivered,
        Self::Undeliverable,
    ];

    /// Derives the status from the state of the batch and, once completed, of the callback.
    pub const fn from_rows(
        batch: Option<batch::BatchState>,
        completed: Option<CallbackState>,
    ) -> Self {
        match (completed, batch) {
            (Some(CallbackState::Open), _) => Self::Completed,
            (Some(CallbackState::Delivered), _) => Self::Delivered,
            (Some(CallbackState::Failed), _) => Self::Undeliverable,
            (None, None) => Self::Pending,
            (None, Some(batch::BatchState::Gathered | batch::BatchState::Submitting)) => {
                Self::Batched
            }
            // A batch ends in the transaction that completes its last cargo.
            (None, Some(batch::BatchState::Running | batch::BatchState::Ended)) => Self::Processing,
        }
    }

    /// The state diagram.
    #[expect(clippy::unnested_or_patterns, reason = "one line for each move")]
    pub const fn can_become(self, next: Self) -> bool {
        matches!(
            (self, next),
            (Self::Pending, Self::Batched)
                | (Self::Batched, Self::Processing)
                | (Self::Processing, Self::Completed)
                | (Self::Completed, Self::Delivered | Self::Undeliverable)
                // The provider refused or lost the batch, and the cargo is requeued.
                | (Self::Batched | Self::Processing, Self::Pending)
                // Cargo that missed its deadline or is a poison pill fails before it is processed.
                | (Self::Pending | Self::Batched, Self::Completed)
                // The callback was resent.
                | (Self::Undeliverable, Self::Delivered)
        )
    }

    pub const fn as_wire(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Batched => "BATCHED",
            Self::Processing => "PROCESSING",
            Self::Completed => "COMPLETED",
            Self::Delivered => "callback_delivered",
            Self::Undeliverable => "callback_failed",
        }
    }
}

pub fn deadline(loaded_at: Timestamp) -> Timestamp {
    loaded_at + CARGO_DEADLINE
}

/// The caller's deadline, or the usual one. A caller cannot extend it.
pub fn deadline_of(loaded_at: Timestamp, requested: Option<Timestamp>) -> Timestamp {
    let usual = deadline(loaded_at);
    requested.map_or(usual, |requested| requested.min(usual))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    #[test]
    fn the_diagram_is_the_documented_one() {
        let mut drawn = String::new();
        for from in CargoStatus::ALL {
            for to in CargoStatus::ALL
                .into_iter()
                .filter(|to| from.can_become(*to))
            {
                writeln!(drawn, "{} -> {}", from.as_wire(), to.as_wire()).unwrap();
            }
        }
        insta::assert_snapshot!(drawn, @r"
        PENDING -> BATCHED
        PENDING -> COMPLETED
        BATCHED -> PENDING
        BATCHED -> PROCESSING
        BATCHED -> COMPLETED
        PROCESSING -> PENDING
        PROCESSING -> COMPLETED
        COMPLETED -> callback_delivered
        COMPLETED -> callback_failed
        callback_failed -> callback_delivered
        ");
    }

    #[test]
    fn a_caller_can_shorten_the_deadline_only() {
        let loaded_at = Timestamp::UNIX_EPOCH;
        let at = |hours| loaded_at + TimeDelta::hours(hours);
        assert_eq!(deadline_of(loaded_at, None), at(24));
        assert_eq!(deadline_of(loaded_at, Some(at(2))), at(2));
        assert_eq!(deadline_of(loaded_at, Some(at(30))), at(24));
    }

    #[test]
    fn a_status_is_read_from_the_rows() {
        use batch::BatchState::{Gathered, Running, Submitting};
        let open = Some(CallbackState::Open);
        assert_eq!(CargoStatus::from_rows(None, None), CargoStatus::Pending);
        assert_eq!(
            CargoStatus::from_rows(Some(Gathered), None),
            CargoStatus::Batched
        );
        assert_eq!(
            CargoStatus::from_rows(Some(Submitting), None),
            CargoStatus::Batched
        );
        assert_eq!(
            CargoStatus::from_rows(Some(Running), None),
            CargoStatus::Processing
        );
        assert_eq!(
            CargoStatus::from_rows(Some(Running), open),
            CargoStatus::Completed
        );
        assert_eq!(CargoStatus::from_rows(None, open), CargoStatus::Completed);
    }
}
