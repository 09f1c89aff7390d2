//! `POST /cargo/load`: who, what, may they, done.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use domain::account::AccountRefusal;
use domain::admission;
use domain::hold::Hold;
use domain::idempotency::{Named, NotAKey};
use domain::lane::Lane;
use domain::time::to_wire;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use store::body;
use wire::load::Loaded;

use crate::auth::Counted;
use crate::body::Body;
use crate::caller::Caller;
use crate::cargo::reference;
use crate::check;
use crate::limits::{Pass, Standing};
use crate::problem::Problem;
use crate::state::App;
use crate::writer::{Loading, NotStored, Stored};

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAY: HeaderName = HeaderName::from_static("idempotent-replay");

/// The order is the contract's: key, project and backstop (the extractor), JSON and
/// fields, model, capability and files, rate limit; then, under the account's lock,
/// quota and credit.
pub(crate) async fn load(
    Counted(caller): Counted,
    State(app): State<App>,
    headers: HeaderMap,
    Body(body): Body,
) -> Result<Response, Problem> {
    let named = headers
        .get(KEY)
        .map(|key| Named::new(key.as_bytes(), &body))
        .transpose()?;
    let asked = check::check(&body, &app.rules)?;
    let catalogue = Arc::clone(&app.catalogue.borrow());
    let model = admission::admit(&asked.params, &catalogue)?;
    let quay = app.quay(caller.berth)?;
    let files = match reference::look_up(&quay.shard, caller.project, &asked.params).await? {
        Ok(files) => files,
        Err(refusal) => {
            let named = named.as_ref();
            let repeated = reference::repeated(&quay.shard, caller.project, named).await?;
            // What was loaded before stays loaded, whatever became of its files.
            let cargo = repeated.ok_or(refusal)?;
            let standing = take(&app, &caller).await?.standing();
            return Ok(accepted(Stored::Replay(cargo), standing));
        }
    };
    let hold = Hold::of(&asked.params, model, &files);
    let lane = quay
        .lanes
        .find(&quay.shard, Lane::entered(model, &quay.shard.name))
        .await?;
    let pass = take(&app, &caller).await?;
    let standing = pass.standing();
    // Nothing is packed for those who were refused.
    let request = serde_json::to_vec(&asked.params).map_err(Problem::internal)?;
    let unpacked_bytes = request.len();
    let request = body::pack(&request);
    let files = asked.params.files().into_iter().collect();
    let (callback, metadata) = (asked.callback, asked.metadata);
    // A load that waits keeps only what is stored of it.
    drop((asked.params, body));
    let load = Loading {
        caller,
        lane,
        model: model.id.clone(),
        callback,
        request,
        unpacked_bytes,
        metadata,
        named,
        hold,
        files,
        monthly_tokens: app.limits.borrow().of(caller.plan).monthly_tokens,
    };
    let stored = quay.writer.store(load, pass).await?;
    metrics::counter!("cargo_loaded_total", "shard" => quay.shard.name.to_string()).increment(1);
    Ok(accepted(stored, standing))
}

/// One load's place in the rate limit.
async fn take(app: &App, caller: &Caller) -> Result<Pass, Problem> {
    let allowed = app.limits.borrow().of(caller.plan);
    let pass = app.limiter.take(caller.organization, allowed.rate).await;
    pass.map_err(|empty| empty.refuse(caller.plan, &app.upgrade_url))
}

fn accepted(stored: Stored, standing: Standing) -> Response {
    let (id, message, standing) = match stored {
        Stored::New(id) => (id, "Cargo loaded.", standing),
        Stored::Replay(id) => {
            let message = "Cargo was loaded before under this Idempotency-Key.";
            // What was loaded before takes nothing.
            (id, message, standing.with_back(1))
        }
    };
    let mut answer = (StatusCode::ACCEPTED, Json(Loaded::new(id, message))).into_response();
    answer.headers_mut().extend(standing.headers());
    if matches!(stored, Stored::Replay(_)) {
        answer
            .headers_mut()
            .insert(REPLAY, HeaderValue::from_static("true"));
    }
    answer
}

impl From<NotAKey> for Problem {
    fn from(fault: NotAKey) -> Self {
        Self::fault(["header", "idempotency-key"], fault.to_string())
    }
}

impl From<NotStored> for Problem {
    fn from(reason: NotStored) -> Self {
        match reason {
            NotStored::KeyReused => Self::idempotency_key_reused(),
            NotStored::Refused(refusal) => refusal.into(),
            NotStored::File(refusal) => refusal.into(),
            NotStored::Away => Self::unavailable(
                "The organization's shard is not available. Repeat the load with an \
                 Idempotency-Key to be sure that it is stored once.",
                1,
            ),
            NotStored::Overloaded(overload) => Self::unavailable(
                "Too many loads are waiting. Retry after the time in Retry-After.",
                overload.retry_after_seconds,
            ),
            NotStored::Failed(cause) => Self::internal(std::io::Error::other(cause)),
        }
    }
}

impl From<AccountRefusal> for Problem {
    fn from(refusal: AccountRefusal) -> Self {
        match refusal {
            AccountRefusal::QuotaExceeded {
                monthly,
                spoken_for,
                required,
                resets_at,
            } => {
                let resets_at = to_wire(resets_at);
                let message = format!(
                    "The month's tokens are used up: {spoken_for} of {monthly} are used or \
                     reserved, and this load may need {required}. They begin anew at {resets_at}."
                );
                Self::coded(StatusCode::TOO_MANY_REQUESTS, "quota_exceeded", message)
                    .with("monthly_tokens", monthly)
                    .with("used_tokens", spoken_for)
                    .with("required_tokens", required)
                    .with("resets_at", resets_at)
            }
            AccountRefusal::InsufficientCredit {
                required,
                available,
            } => {
                let message = format!(
                    "This load may cost {required} dollars, and {available} are available. \
                     Add credit, or ask for fewer tokens with max_tokens."
                );
                Self::coded(
                    StatusCode::TOO_MANY_REQUESTS,
                    "insufficient_credits",
                    message,
                )
                .with("required", required.nanos())
                .with("available", available.nanos())
                .with("currency", "USD")
                .with("scale", 9)
            }
        }
    }
}
