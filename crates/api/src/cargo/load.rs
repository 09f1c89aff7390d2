//! `POST /cargo/load`: validates a load, checks its limits and stores it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use domain::account::AccountRefusal;
use domain::admission;
use domain::hold::Hold;
use domain::idempotency::{IdempotencyKey, InvalidIdempotencyKey};
use domain::load_warning::LoadWarning;
use domain::response_shape::ResponseShape;
use domain::time::to_wire;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use store::body;
use store::shard::project_keys;
use wire::load::LoadResponse;

use crate::api_error::ApiError;
use crate::auth::AdmittedCaller;
use crate::caller::Caller;
use crate::cargo::{file_references, lane_choice, request_features};
use crate::group_commit::{self, PreparedLoad, StoreLoadError, StoredLoad};
use crate::load_validation;
use crate::rate_limit::{BucketStatus, RateLimitToken};
use crate::request_body::BufferedBody;
use crate::state::{App, ShardHandle};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const IDEMPOTENT_REPLAY: HeaderName = HeaderName::from_static("idempotent-replay");

/// The contract sets the order of the checks: key, project and backstop (the extractor),
/// JSON and fields, model, capability and files, rate limit. The writer checks quota, credit
/// and the key's spending cap last, under the account's lock.
pub(crate) async fn load(
    AdmittedCaller(caller): AdmittedCaller,
    State(app): State<App>,
    headers: HeaderMap,
    BufferedBody(body): BufferedBody,
) -> Result<Response, ApiError> {
    let key = headers
        .get(IDEMPOTENCY_KEY)
        .map(|key| IdempotencyKey::new(key.as_bytes(), &body))
        .transpose()?;
    let valid = load_validation::parse_load(&body, &app.rules)?;
    request_features::check_conversation(&valid.params)?;
    let catalogue = Arc::clone(&app.catalogue.borrow());
    let model = admission::admit(&valid.params, &catalogue)?;
    caller.check_model(&model.id)?;
    let warnings = request_features::check_features(&valid.params, model, valid.warnings)?;
    let handle = app.shard_handle(caller.berth)?;
    let now = handle.shard.clock.now();
    let deadline = valid.deadline.map(|deadline| deadline.resolve(now));
    let deadline_at = match deadline.transpose() {
        Ok(deadline_at) => deadline_at,
        Err(refusal) => {
            return replay_or_refuse(&app, &caller, handle, key.as_ref(), refusal).await;
        }
    };
    let files =
        match file_references::find_files(&handle.shard, caller.project, &valid.params).await? {
            Ok(files) => files,
            Err(refusal) => {
                let key = key.as_ref();
                return replay_or_refuse(&app, &caller, handle, key, refusal.into()).await;
            }
        };
    let hold = Hold::of(&valid.params, model, &files);
    let lane = lane_choice::choose_lane(handle, model, deadline_at, now).await?;
    let token = take_token(&app, &caller).await?;
    let status = token.bucket_status();
    project_keys::prepare_write_key(&handle.shard, caller.project).await?;
    // The request is compressed only after the rate limit has admitted it.
    let request = serde_json::to_vec(&valid.params).map_err(ApiError::internal)?;
    let unpacked_bytes = request.len();
    let request = body::pack(&request);
    let response_shape = ResponseShape::of(&valid.params, &model.features);
    let files = valid.params.file_ids().into_iter().collect();
    let (callback, metadata) = (valid.callback, valid.metadata);
    // While a load is queued, only the data to be stored stays in memory.
    drop((valid.params, body));
    let plan = caller.plan;
    let load = PreparedLoad {
        caller,
        lane: lane.id,
        model: model.id.clone(),
        callback,
        request,
        unpacked_bytes,
        metadata,
        idempotency_key: key,
        hold,
        files,
        monthly_tokens: app.plan_limits.borrow().for_plan(plan).monthly_tokens,
        response_shape,
        warnings: stored_warnings(&warnings)?,
        deadline_at,
        route_reason: lane.reason,
    };
    let stored = handle.writer.store(load, token).await?;
    if matches!(stored, StoredLoad::New(_)) {
        lane.count_stored_load();
    }
    metrics::counter!("longshore_cargo_loaded_total", "shard" => handle.shard.name.to_string())
        .increment(1);
    Ok(accepted_response(stored, status, warnings))
}

/// A repeated load gets its first answer, even if it could not be stored any more: because its
/// files are gone, or its deadline has passed.
async fn replay_or_refuse(
    app: &App,
    caller: &Caller,
    handle: &ShardHandle,
    key: Option<&IdempotencyKey>,
    refusal: ApiError,
) -> Result<Response, ApiError> {
    let earlier = group_commit::find_earlier_answer(&handle.shard, caller.project, key);
    let answer = earlier.await?.ok_or(refusal)?;
    let status = take_token(app, caller).await?.bucket_status();
    Ok(accepted_response(answer?, status, Vec::new()))
}

fn stored_warnings(warnings: &[LoadWarning]) -> Result<Option<Vec<u8>>, ApiError> {
    if warnings.is_empty() {
        return Ok(None);
    }
    let json = serde_json::to_vec(warnings).map_err(ApiError::internal)?;
    Ok(Some(json))
}

/// Takes one token from the organization's bucket.
async fn take_token(app: &App, caller: &Caller) -> Result<RateLimitToken, ApiError> {
    let allowed = app.plan_limits.borrow().for_plan(caller.plan);
    let token = app
        .limiter
        .take_token(caller.organization, allowed.rate)
        .await;
    token.map_err(|empty| empty.into_api_error(caller.plan, &app.upgrade_url))
}

fn accepted_response(
    stored: StoredLoad,
    status: BucketStatus,
    warnings: Vec<LoadWarning>,
) -> Response {
    let (acknowledgement, status) = match stored {
        StoredLoad::New(id) => {
            let acknowledgement = LoadResponse::new(id, "Cargo loaded.");
            (acknowledgement.with_warnings(warnings), status)
        }
        StoredLoad::Replay(id) => {
            let message = "Cargo was already loaded with this Idempotency-Key.";
            // A replay costs no token.
            (LoadResponse::new(id, message), status.with_returned(1))
        }
    };
    let mut answer = (StatusCode::ACCEPTED, Json(acknowledgement)).into_response();
    answer.headers_mut().extend(status.headers());
    if matches!(stored, StoredLoad::Replay(_)) {
        answer
            .headers_mut()
            .insert(IDEMPOTENT_REPLAY, HeaderValue::from_static("true"));
    }
    answer
}

impl From<InvalidIdempotencyKey> for ApiError {
    fn from(fault: InvalidIdempotencyKey) -> Self {
        Self::validation_at(["header", "idempotency-key"], fault.to_string())
    }
}

impl From<StoreLoadError> for ApiError {
    fn from(reason: StoreLoadError) -> Self {
        match reason {
            StoreLoadError::KeyReused => Self::idempotency_key_reused(),
            StoreLoadError::Refused(refusal) => refusal.into(),
            StoreLoadError::File(refusal) => refusal.into(),
            StoreLoadError::Unavailable => Self::unavailable(
                "The database shard of your organization is unavailable. Retry the load; with an \
                 Idempotency-Key it is stored only once.",
                1,
            ),
            StoreLoadError::KeyUnavailable => Self::key_unavailable(),
            StoreLoadError::Overloaded(overload) => Self::unavailable(
                "Too many loads are waiting. Retry after the time in Retry-After.",
                overload.retry_after_seconds,
            ),
            StoreLoadError::Failed(cause) => Self::internal(std::io::Error::other(cause)),
        }
    }
}

impl From<AccountRefusal> for ApiError {
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
                    "The monthly token quota is used up: {spoken_for} of {monthly} tokens are \
                     used or reserved, and this load may need {required}. The quota resets at \
                     {resets_at}."
                );
                Self::with_code(StatusCode::TOO_MANY_REQUESTS, "quota_exceeded", message)
                    .with_field("monthly_tokens", monthly)
                    .with_field("used_tokens", spoken_for)
                    .with_field("required_tokens", required)
                    .with_field("resets_at", resets_at)
            }
            AccountRefusal::InsufficientCredit {
                required,
                available,
            } => {
                let message = format!(
                    "This load may cost {required} dollars, but only {available} dollars of \
                     credit are available. Add credit, or lower max_tokens."
                );
                Self::with_code(
                    StatusCode::TOO_MANY_REQUESTS,
                    "insufficient_credits",
                    message,
                )
                .with_field("required", required.nanos())
                .with_field("available", available.nanos())
                .with_field("currency", "USD")
                .with_field("scale", 9)
            }
            AccountRefusal::KeySpendingCapExceeded {
                cap,
                spoken_for,
                required,
                resets_at,
            } => {
                let resets_at = to_wire(resets_at);
                let message = format!(
                    "The monthly spending cap of this API key is {cap} dollars: {spoken_for} \
                     dollars are spent or held, and this load may cost {required} dollars. The \
                     cap resets at {resets_at}."
                );
                let (status, code) = (StatusCode::TOO_MANY_REQUESTS, "key_spending_cap_exceeded");
                Self::with_code(status, code, message)
                    .with_field("monthly_cap", cap.nanos())
                    .with_field("spent", spoken_for.nanos())
                    .with_field("required", required.nanos())
                    .with_field("currency", "USD")
                    .with_field("scale", 9)
                    .with_field("resets_at", resets_at)
            }
        }
    }
}
