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

/// A target: at it, what is not at a provider fails.
pub const DEADLINE: TimeDelta = TimeDelta::hours(24);

/// The six statuses of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    Pending,
    Batched,
    Processing,
    Completed,
    Delivered,
    Undeliverable,
}

/// How the callback of a completed cargo stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallbackState {
    /// None was asked for, or it is still being tried.
    Open,
    Delivered,
    Failed,
}

impl Status {
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::Batched,
        Self::Processing,
        Self::Completed,
        Self::Delivered,
        Self::Undeliverable,
    ];

    /// What the rows say: the batch it is in, whether it has an outcome, how its callback stands.
    pub const fn read(batch: Option<batch::State>, completed: Option<CallbackState>) -> Self {
        match (completed, batch) {
            (Some(CallbackState::Open), _) => Self::Completed,
            (Some(CallbackState::Delivered), _) => Self::Delivered,
            (Some(CallbackState::Failed), _) => Self::Undeliverable,
            (None, None) => Self::Pending,
            (None, Some(batch::State::Gathered | batch::State::Submitting)) => Self::Batched,
            // A batch ends in the transaction that completes its last cargo.
            (None, Some(batch::State::Running | batch::State::Ended)) => Self::Processing,
        }
    }

    /// The whole diagram.
    #[expect(clippy::unnested_or_patterns, reason = "one line for each move")]
    pub const fn may_become(self, next: Self) -> bool {
        matches!(
            (self, next),
            (Self::Pending, Self::Batched)
                | (Self::Batched, Self::Processing)
                | (Self::Processing, Self::Completed)
                | (Self::Completed, Self::Delivered | Self::Undeliverable)
                // A batch that the provider refused or lost goes back to the dock.
                | (Self::Batched | Self::Processing, Self::Pending)
                // What missed its deadline, or was set aside, fails where it stands.
                | (Self::Pending | Self::Batched, Self::Completed)
                // Somebody asked for its callback again.
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
    loaded_at + DEADLINE
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    #[test]
    fn the_diagram_is_the_documented_one() {
        let mut drawn = String::new();
        for from in Status::ALL {
            for to in Status::ALL.into_iter().filter(|to| from.may_become(*to)) {
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
    fn a_status_is_read_from_the_rows() {
        use batch::State::{Gathered, Running, Submitting};
        let open = Some(CallbackState::Open);
        assert_eq!(Status::read(None, None), Status::Pending);
        assert_eq!(Status::read(Some(Gathered), None), Status::Batched);
        assert_eq!(Status::read(Some(Submitting), None), Status::Batched);
        assert_eq!(Status::read(Some(Running), None), Status::Processing);
        assert_eq!(Status::read(Some(Running), open), Status::Completed);
        assert_eq!(Status::read(None, open), Status::Completed);
    }
}
