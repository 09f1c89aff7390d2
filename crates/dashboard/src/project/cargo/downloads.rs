//! Downloads of a cargo's input and output.

use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use domain::id::CargoId;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use store::shard::tracking;
use store::view::cargo_detail;

use crate::access::ProjectAccess;
use crate::page_error::PageError;
use crate::read_audit::record_export;
use crate::state::DashboardState;

/// Rejects invalid ids and ids of another berth without a query.
pub(crate) fn parse_cargo_id(within: &ProjectAccess, text: &str) -> Result<CargoId, PageError> {
    let cargo = text.parse::<CargoId>().map_err(|_| PageError::NotFound)?;
    if cargo.berth() == within.scope.berth {
        Ok(cargo)
    } else {
        Err(PageError::NotFound)
    }
}

pub(crate) async fn input(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    Path((_, cargo)): Path<(String, String)>,
) -> Result<Response, PageError> {
    let cargo = parse_cargo_id(&within, &cargo)?;
    let found = cargo_detail::find_detail(within.shard(), within.id(), cargo).await?;
    // An erased input is empty.
    let found = found.filter(|found| !found.input.is_empty());
    let body = found.ok_or(PageError::NotFound)?.input;
    record_export(&state, &within, "cargo.input_exported", cargo.to_string()).await?;
    Ok(download(&format!("{cargo}-input.json"), body))
}

pub(crate) async fn output(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    Path((_, cargo)): Path<(String, String)>,
) -> Result<Response, PageError> {
    let cargo = parse_cargo_id(&within, &cargo)?;
    let found = tracking::find(within.shard(), within.id(), cargo).await?;
    let outcome = found
        .filter(|tracked| tracked.erased_at.is_none())
        .and_then(|tracked| tracked.outcome)
        .ok_or(PageError::NotFound)?;
    record_export(&state, &within, "cargo.output_exported", cargo.to_string()).await?;
    let body = if outcome.success {
        outcome.body
    } else {
        let error = String::from_utf8_lossy(&outcome.body).into_owned();
        serde_json::json!({ "error": error })
            .to_string()
            .into_bytes()
    };
    Ok(download(&format!("{cargo}-output.json"), body))
}

fn download(name: &str, body: Vec<u8>) -> Response {
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers = [
        (CONTENT_TYPE, "application/json".to_owned()),
        (CONTENT_DISPOSITION, disposition),
    ];
    (headers, body).into_response()
}
