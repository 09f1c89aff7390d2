//! `POST /cargo/{cargo_id}/resend`: sends the callback of a completed cargo once more.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use http::StatusCode;
use store::shard::resend::{self, ResendResult};
use wire::cargo_list::{ResendResponse, ResendStateBody};

use crate::api_error::{ApiError, ErrorCode};
use crate::auth::LimitedCaller;
use crate::cargo::cargo_path::parse_cargo_id;
use crate::state::App;

pub(crate) async fn resend(
    LimitedCaller(caller): LimitedCaller,
    State(app): State<App>,
    path: Result<Path<String>, PathRejection>,
) -> Result<(StatusCode, Json<ResendResponse>), ApiError> {
    let cargo = parse_cargo_id(path, &caller)?;
    app.route_limiter.count_resend(caller.project, cargo)?;
    let shard = &app.shard_handle(caller.berth)?.shard;
    let now = shard.clock.now();
    let state = match resend::queue_one(shard, caller.project, cargo, now).await? {
        ResendResult::Queued => ResendStateBody::Queued,
        ResendResult::AlreadyDue => ResendStateBody::AlreadyDue,
        ResendResult::NothingToSend => return Err(nothing_to_send()),
        ResendResult::Erased => return Err(erased()),
        ResendResult::NotFound => return Err(ApiError::cargo_not_found()),
    };
    let accepted = ResendResponse {
        cargo_id: cargo.to_string(),
        resend: state,
    };
    Ok((StatusCode::ACCEPTED, Json(accepted)))
}

pub(crate) fn nothing_to_send() -> ApiError {
    let message = "There is no callback to send: the cargo is not completed, or its load had no \
                   callback_url. GET /cargo/{cargo_id}/tracking shows its status and its answer.";
    ApiError::with_code(ErrorCode::NothingToSend, message)
}

pub(crate) fn erased() -> ApiError {
    let message = "There is no callback to send: the answer was erased by the retention of the \
                   project.";
    ApiError::with_code(ErrorCode::NothingToSend, message)
}
