//! `GET /cargo/{cargo_id}/attempts`: the log of a callback.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use store::view::cargo_detail::{self, LoggedAttempt};
use wire::cargo_list::{CallbackAttemptBody, CallbackAttemptsResponse};
use wire::timestamp::WireTimestamp;

use crate::api_error::ApiError;
use crate::auth::LimitedCaller;
use crate::cargo::cargo_path::parse_cargo_id;
use crate::state::App;

const MAX_LISTED_ATTEMPTS: u32 = 100;
const MAX_ANSWER_BYTES: usize = 1024;

pub(crate) async fn attempts(
    LimitedCaller(caller): LimitedCaller,
    State(app): State<App>,
    path: Result<Path<String>, PathRejection>,
) -> Result<Json<CallbackAttemptsResponse>, ApiError> {
    let cargo = parse_cargo_id(path, &caller)?;
    let (shard, project) = (&app.shard_handle(caller.berth)?.shard, caller.project);
    let next = cargo_detail::find_next_attempt(shard, project, cargo).await?;
    let next = next.ok_or_else(ApiError::cargo_not_found)?;
    let log = cargo_detail::list_attempts(shard, project, cargo, MAX_LISTED_ATTEMPTS).await?;
    Ok(Json(CallbackAttemptsResponse {
        attempts: log.into_iter().map(attempt_record).collect(),
        next_attempt_at: next.due_at.map(WireTimestamp),
    }))
}

fn attempt_record(attempt: LoggedAttempt) -> CallbackAttemptBody {
    let latency = (attempt.ended_at - attempt.started_at).num_milliseconds();
    let mut answer = attempt.answer;
    answer.truncate(MAX_ANSWER_BYTES);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    CallbackAttemptBody {
        number: attempt.number,
        started_at: WireTimestamp(attempt.started_at),
        ended_at: WireTimestamp(attempt.ended_at),
        latency_ms: u64::try_from(latency).unwrap_or_default(),
        status_code: attempt.status,
        error: attempt.error,
        answer: Some(answer).filter(|answer| !answer.is_empty()),
        resend: attempt.is_resend,
    }
}
