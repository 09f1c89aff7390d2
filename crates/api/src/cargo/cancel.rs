//! `POST /cargo/{cargo_id}/cancel`: cancels a cargo that no provider has. The body is not read.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use store::shard::cancel::{self, CancelResult};
use wire::cancel::{CancelResponse, CancelResultBody};

use crate::api_error::ApiError;
use crate::auth::LimitedCaller;
use crate::cargo::cargo_path::parse_cargo_id;
use crate::state::App;

pub(crate) async fn cancel(
    LimitedCaller(caller): LimitedCaller,
    State(app): State<App>,
    path: Result<Path<String>, PathRejection>,
) -> Result<Json<CancelResponse>, ApiError> {
    let cargo = parse_cargo_id(path, &caller)?;
    let shard = &app.shard_handle(caller.berth)?.shard;
    let now = shard.clock.now();
    let answer = match cancel::cancel_one(shard, caller.project, cargo, now).await {
        // It moved between batches all the time. Nothing was changed.
        Err(store::Error::Fenced) => {
            let detail = "The cargo is changing its batch. Retry shortly.";
            return Err(ApiError::unavailable(detail, 1));
        }
        answer => answer?.ok_or_else(ApiError::cargo_not_found)?,
    };
    if answer.is_new {
        metrics::counter!("longshore_cargo_cancelled_total", "shard" => shard.name.to_string())
            .increment(1);
    }
    Ok(Json(CancelResponse {
        cargo_id: cargo.to_string(),
        status: answer.status.into(),
        cancel: match answer.result {
            CancelResult::Cancelled => CancelResultBody::Cancelled,
            CancelResult::TooLate => CancelResultBody::TooLate,
            CancelResult::Done => CancelResultBody::Done,
        },
    }))
}
