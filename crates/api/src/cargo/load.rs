//! `POST /cargo/load`: who, what, may they, done.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use domain::admission;
use domain::idempotency::{Named, NotAKey};
use domain::lane::Lane;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use store::body;
use wire::load::Loaded;

use crate::body::Body;
use crate::caller::Caller;
use crate::check;
use crate::problem::Problem;
use crate::state::App;
use crate::writer::{Loading, NotStored, Stored};

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAY: HeaderName = HeaderName::from_static("idempotent-replay");

/// The order is the contract's: key and project (the extractor), backstop, JSON and
/// fields, model, capability and files, rate limit; then, under the account's lock,
/// quota and credit.
pub(crate) async fn load(
    caller: Caller,
    State(app): State<App>,
    headers: HeaderMap,
    Body(body): Body,
) -> Result<Response, Problem> {
    let named = headers
        .get(KEY)
        .map(|key| Named::new(key.as_bytes(), &body))
        .transpose()?;
    let asked = check::check(&body, &app.rules)?;
    let lane = {
        let catalogue = app.catalogue.borrow();
        Lane::from(admission::admit(&asked.params, &catalogue)?)
    };
    let quay = app.quay(caller.berth)?;
    let model = lane.model.clone();
    let lane = quay.lanes.find(&quay.shard, lane).await?;
    let request = serde_json::to_vec(&asked.params).map_err(Problem::internal)?;
    let request = body::pack(&request);
    let (callback, metadata) = (asked.callback, asked.metadata);
    let load = Loading {
        caller,
        lane,
        model,
        callback,
        request,
        metadata,
        named,
    };
    let stored = quay.writer.store(load).await?;
    metrics::counter!("cargo_loaded_total", "shard" => quay.shard.name.to_string()).increment(1);
    Ok(accepted(stored))
}

fn accepted(stored: Stored) -> Response {
    let (id, message) = match stored {
        Stored::New(id) => (id, "Cargo loaded."),
        Stored::Replay(id) => (id, "Cargo was loaded before under this Idempotency-Key."),
    };
    let mut answer = (StatusCode::ACCEPTED, Json(Loaded::new(id, message))).into_response();
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
            NotStored::Away => Self::unavailable(
                "The organization's shard is not available. Repeat the load with an \
                 Idempotency-Key to be sure that it is stored once.",
                1,
            ),
            NotStored::Busy => Self::unavailable("Too many loads are waiting. Retry shortly.", 1),
            NotStored::Failed(cause) => Self::internal(std::io::Error::other(cause)),
        }
    }
}
