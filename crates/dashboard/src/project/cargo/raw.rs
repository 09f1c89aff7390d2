//! Bodies as they are stored, to be kept.

use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use domain::id::CargoId;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use store::shard::tracking;
use store::view::one_cargo;

use crate::no::No;
use crate::seat::InProject;
use crate::state::Desk;

/// What is no id, or lies elsewhere, is not found without a look.
pub(crate) fn id(within: &InProject, text: &str) -> Result<CargoId, No> {
    let cargo = text.parse::<CargoId>().map_err(|_| No::NotFound)?;
    if cargo.berth() == within.place.berth {
        Ok(cargo)
    } else {
        Err(No::NotFound)
    }
}

pub(crate) async fn input(
    State(_): State<Desk>,
    within: InProject,
    Path((_, cargo)): Path<(String, String)>,
) -> Result<Response, No> {
    let cargo = id(&within, &cargo)?;
    let found = one_cargo::beside(within.shard(), within.id(), cargo).await?;
    let body = found.ok_or(No::NotFound)?.input;
    Ok(download(&format!("{cargo}-input.json"), body))
}

pub(crate) async fn output(
    State(_): State<Desk>,
    within: InProject,
    Path((_, cargo)): Path<(String, String)>,
) -> Result<Response, No> {
    let cargo = id(&within, &cargo)?;
    let found = tracking::find(within.shard(), within.id(), cargo).await?;
    let outcome = found
        .and_then(|tracked| tracked.outcome)
        .ok_or(No::NotFound)?;
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
    let kept = format!("attachment; filename=\"{name}\"");
    let headers = [
        (CONTENT_TYPE, "application/json".to_owned()),
        (CONTENT_DISPOSITION, kept),
    ];
    (headers, body).into_response()
}
