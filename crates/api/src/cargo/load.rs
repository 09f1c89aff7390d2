//! `POST /cargo/load`: validates a load, checks its limits and stores it.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use domain::cargo_spans::LoadedCargo;
use domain::idempotency::IdempotencyKey;
use domain::load_warning::LoadWarning;
use domain::response_shape::ResponseShape;
use domain::trace_context::RequestTrace;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use store::body;
use store::shard::project_keys;
use wire::load::LoadResponse;

use crate::api_error::ApiError;
use crate::auth::LoadCaller;
use crate::caller::Caller;
use crate::cargo::lane_choice;
use crate::cargo::load_check::{self, LoadInput, RefusedLoad};
use crate::group_commit::{self, GroupMembership, PreparedLoad, StoredLoad};
use crate::rate_limit::{BucketStatus, RateLimitToken};
use crate::request_body::BufferedBody;
use crate::state::{App, ShardHandle};

pub(super) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const IDEMPOTENT_REPLAY: HeaderName = HeaderName::from_static("idempotent-replay");

/// A load that is on disk, as it is acknowledged.
#[derive(Debug)]
pub(super) struct AdmittedLoad {
    pub(super) stored: StoredLoad,
    /// The status of the organization's bucket after the load.
    pub(super) bucket_status: BucketStatus,
    pub(super) warnings: Vec<LoadWarning>,
    /// What the answer says if the load was stored before.
    replay_message: &'static str,
    /// What the span of the request says, if it is traced.
    loaded: Option<LoadedCargo>,
}

impl AdmittedLoad {
    fn new(
        stored: StoredLoad,
        status: BucketStatus,
        warnings: Vec<LoadWarning>,
        replay_message: &'static str,
    ) -> Self {
        let (bucket_status, warnings) = match stored {
            StoredLoad::New(_) => (status, warnings),
            // A replay costs no token.
            StoredLoad::Replay(_) => (status.with_returned(1), Vec::new()),
        };
        Self {
            stored,
            bucket_status,
            warnings,
            replay_message,
            loaded: None,
        }
    }
}

pub(crate) async fn load(
    LoadCaller { caller, token }: LoadCaller,
    State(app): State<App>,
    headers: HeaderMap,
    trace: Option<Extension<RequestTrace>>,
    BufferedBody(body): BufferedBody,
) -> Result<Response, ApiError> {
    let key = headers
        .get(IDEMPOTENCY_KEY)
        .map(|key| IdempotencyKey::new(key.as_bytes(), &body))
        .transpose()?;
    let input = LoadInput {
        body,
        key,
        read_field: None,
        trace: trace.map(|Extension(trace)| trace.context),
    };
    let admitted = admit_load(&app, caller, input, token).await?;
    Ok(accepted_response(admitted))
}

/// Admits one load: the single route and bulk loads share every check and every error.
///
/// The contract sets the order of the checks: key, project and backstop (the extractor),
/// JSON and fields, model, capability and files, rate limit. The writer checks quota, credit
/// and the key's spending cap last, under the account's lock.
///
/// `token` is of the organization's bucket, if one was taken before. It is returned on an error.
pub(super) async fn admit_load(
    app: &App,
    caller: Caller,
    input: LoadInput,
    token: Option<RateLimitToken>,
) -> Result<AdmittedLoad, ApiError> {
    let catalogue = Arc::clone(&app.catalogue.borrow());
    let checked = load_check::check_load(app, &caller, &input, &catalogue).await?;
    let LoadInput {
        body, key, trace, ..
    } = input;
    let handle = app.shard_handle(caller.berth)?;
    let checked = match checked {
        Ok(checked) => checked,
        Err(RefusedLoad { error, membership }) => {
            let names = RepeatedNames {
                key: key.as_ref(),
                membership: membership.as_deref(),
            };
            drop(token);
            return replay_or_refuse(app, &caller, handle, names, error).await;
        }
    };
    let (model, deadline_at) = (checked.model, checked.deadline_at);
    let lane = lane_choice::choose_lane(handle, model, deadline_at, checked.checked_at).await?;
    let token = match token {
        Some(token) => token,
        None => take_token(app, &caller).await?,
    };
    let status = token.bucket_status();
    project_keys::prepare_write_key(&handle.shard, caller.project).await?;
    // The request is compressed only after the rate limit has admitted it.
    let request = serde_json::to_vec(&checked.params).map_err(ApiError::internal)?;
    let unpacked_bytes = request.len();
    let request = body::pack(&request);
    let response_shape = ResponseShape::of(&checked.params, &model.features);
    let files = checked.params.file_ids().into_iter().collect();
    let warnings = checked.warnings;
    // While a load is queued, only the data to be stored stays in memory.
    drop((checked.params, checked.files, body));
    let (plan, organization, project) = (caller.plan, caller.organization, caller.project);
    let names = RepeatedNames {
        key: key.as_ref(),
        membership: checked.membership.as_ref(),
    };
    let replay_message = names.replay_message();
    let load = PreparedLoad {
        caller,
        lane: lane.id,
        model: model.id.clone(),
        callback: checked.callback,
        request,
        unpacked_bytes,
        metadata: checked.metadata,
        idempotency_key: key,
        hold: checked.hold,
        files,
        monthly_tokens: app.plan_limits.borrow().for_plan(plan).monthly_tokens,
        response_shape,
        warnings: stored_warnings(&warnings)?,
        deadline_at,
        route_reason: lane.reason,
        trace,
        membership: checked.membership,
    };
    let stored = handle.writer.store(load, token).await?;
    if matches!(stored, StoredLoad::New(_)) {
        lane.count_stored_load();
    }
    metrics::counter!("longshore_cargo_loaded_total", "shard" => handle.shard.name.to_string())
        .increment(1);
    let loaded = trace.map(|_| LoadedCargo {
        cargo: stored.cargo(),
        organization,
        project,
        model: model.id.clone(),
    });
    let admitted = AdmittedLoad::new(stored, status, warnings, replay_message);
    Ok(AdmittedLoad { loaded, ..admitted })
}

/// The names by which a repeated load is found.
#[derive(Debug, Clone, Copy)]
struct RepeatedNames<'a> {
    key: Option<&'a IdempotencyKey>,
    membership: Option<&'a GroupMembership>,
}

impl RepeatedNames<'_> {
    const fn replay_message(self) -> &'static str {
        match (self.key, self.membership) {
            (None, Some(_)) => "Cargo was already loaded with this custom_id.",
            (Some(_), _) | (None, None) => "Cargo was already loaded with this Idempotency-Key.",
        }
    }
}

/// A repeated load gets its first answer, even if it could not be stored any more: because its
/// files are gone, or its deadline has passed.
async fn replay_or_refuse(
    app: &App,
    caller: &Caller,
    handle: &ShardHandle,
    names: RepeatedNames<'_>,
    refusal: ApiError,
) -> Result<AdmittedLoad, ApiError> {
    let (shard, project) = (&handle.shard, caller.project);
    let mut earlier = group_commit::find_earlier_answer(shard, project, names.key).await?;
    if earlier.is_none() {
        earlier = group_commit::find_repeated_member(shard, project, names.membership).await?;
    }
    let answer = earlier.ok_or(refusal)?;
    let status = take_token(app, caller).await?.bucket_status();
    let message = names.replay_message();
    Ok(AdmittedLoad::new(answer?, status, Vec::new(), message))
}

fn stored_warnings(warnings: &[LoadWarning]) -> Result<Option<Vec<u8>>, ApiError> {
    if warnings.is_empty() {
        return Ok(None);
    }
    let json = serde_json::to_vec(warnings).map_err(ApiError::internal)?;
    Ok(Some(json))
}

/// Takes one token from the organization's bucket.
pub(super) async fn take_token(app: &App, caller: &Caller) -> Result<RateLimitToken, ApiError> {
    let allowed = app.plan_limits.borrow().for_plan(caller.plan);
    let token = app
        .limiter
        .take_token(caller.organization, allowed.rate)
        .await;
    token.map_err(|empty| empty.into_api_error(caller.plan, &app.upgrade_url))
}

fn accepted_response(admitted: AdmittedLoad) -> Response {
    let acknowledgement = match admitted.stored {
        StoredLoad::New(id) => {
            LoadResponse::new(id, "Cargo loaded.").with_warnings(admitted.warnings)
        }
        StoredLoad::Replay(id) => LoadResponse::new(id, admitted.replay_message),
    };
    let mut answer = (StatusCode::ACCEPTED, Json(acknowledgement)).into_response();
    answer
        .headers_mut()
        .extend(admitted.bucket_status.headers());
    if matches!(admitted.stored, StoredLoad::Replay(_)) {
        answer
            .headers_mut()
            .insert(IDEMPOTENT_REPLAY, HeaderValue::from_static("true"));
    }
    if let Some(loaded) = admitted.loaded {
        answer.extensions_mut().insert(loaded);
    }
    answer
}
