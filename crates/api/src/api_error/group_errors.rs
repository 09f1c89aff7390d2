//! Errors of loads into a group.

use domain::cargo_group::MAX_GROUP_CARGO;

use super::{ApiError, ErrorCode};

impl ApiError {
    pub fn group_not_found() -> Self {
        let message = "Your project has no group with this group_id. Create it first, and load \
                       with the group_id of the answer.";
        Self::with_code(ErrorCode::GroupNotFound, message)
    }

    pub fn group_sealed() -> Self {
        let message = "The group is sealed: nothing more can be added to it. Load into a new \
                       group.";
        Self::with_code(ErrorCode::GroupSealed, message)
    }

    pub fn group_full() -> Self {
        let message = format!(
            "The group has {MAX_GROUP_CARGO} cargo, the most that a group may have. Load into a \
             new group."
        );
        Self::with_code(ErrorCode::GroupFull, message)
    }

    pub fn custom_id_reused() -> Self {
        let message = "The group has a cargo with this custom_id and other params, callback_url \
                       or metadata. Use a custom_id once, or repeat its first load unchanged.";
        Self::with_code(ErrorCode::CustomIdReused, message)
    }

    pub fn position_taken() -> Self {
        let message = "The group has another cargo at this position. Use each position once, or \
                       leave it out.";
        Self::with_code(ErrorCode::PositionTaken, message)
    }
}
