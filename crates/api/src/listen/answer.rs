//! `POST /listen/{listener_id}/answers`: what the receiver behind a listener has answered.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::{Method, StatusCode};
use domain::id::ListenerId;
use store::shard::handover;

use crate::api_error::ApiError;
use crate::caller::Caller;
use crate::listen::answer_request::parse_answer;
use crate::request_body::BufferedBody;
use crate::state::App;

/// The body of the receiver's response is cut, but a listener may send all of it.
pub(crate) const MAX_ANSWER_BODY_BYTES: usize = 64 << 10;

pub(crate) async fn answer(
    caller: Caller,
    State(app): State<App>,
    path: Result<Path<String>, PathRejection>,
    request: Request,
) -> Result<StatusCode, ApiError> {
    // As often as reads: ten listeners answer more often than a project may write.
    app.route_limiter
        .count_request(caller.project, &Method::GET)?;
    let id = path.ok().and_then(|Path(id)| id.parse::<ListenerId>().ok());
    let listener = id.filter(|id| id.berth() == caller.berth);
    let listener = listener.ok_or_else(delivery_not_found)?;
    let BufferedBody(body) = BufferedBody::read(request, MAX_ANSWER_BODY_BYTES).await?;
    let parsed = parse_answer(&body)?;
    let delivery = parsed.delivery.ok_or_else(delivery_not_found)?;
    let shard = &app.shard_handle(caller.berth)?.shard;
    let is_stored = handover::answer(shard, caller.project, listener, delivery, &parsed.answer);
    if is_stored.await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(delivery_not_found())
    }
}

pub(crate) fn delivery_not_found() -> ApiError {
    let detail = "Delivery not found: no attempt of this listener waits for this answer. It was \
                  answered before, or its time is over.";
    ApiError::with_text(StatusCode::NOT_FOUND, detail)
}
