//! The errors of groups.

use domain::cargo_group::MAX_OPEN_GROUPS;

use crate::api_error::{ApiError, ErrorCode};

pub(crate) fn too_many_groups() -> ApiError {
    let message = format!(
        "This project has {MAX_OPEN_GROUPS} groups that are not completed. Seal or cancel groups \
         that you no longer need, then try again."
    );
    ApiError::with_code(ErrorCode::TooManyGroups, message)
        .with_field("max_open_groups", MAX_OPEN_GROUPS)
}

/// `given` is the caller's total.
pub(crate) fn total_mismatch(given: Option<u64>, total: u64) -> ApiError {
    let message = format!(
        "The group has {total} cargo, not the given total. It was not sealed. Load what is \
         missing, or seal it with the total that it has."
    );
    ApiError::with_code(ErrorCode::GroupTotalMismatch, message)
        .with_field("given_total", given)
        .with_field("total", total)
}
