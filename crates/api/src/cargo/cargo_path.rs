//! The cargo id in the path of a request.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use domain::id::CargoId;

use crate::api_error::ApiError;
use crate::caller::Caller;

/// An invalid id, or one of another berth, is not found without a query. A path that is not UTF-8
/// has no valid id.
pub(super) fn parse_cargo_id(
    path: Result<Path<String>, PathRejection>,
    caller: &Caller,
) -> Result<CargoId, ApiError> {
    let cargo = path.ok().and_then(|Path(id)| id.parse::<CargoId>().ok());
    let cargo = cargo.filter(|cargo| cargo.berth() == caller.berth);
    cargo.ok_or_else(ApiError::cargo_not_found)
}
