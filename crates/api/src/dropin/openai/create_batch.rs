//! `POST /openai/v1/batches`: checks every line of the file, and creates the batch.
//!
//! The answer says `validating`, whatever the checks found. A batch that failed them says so when
//! it is retrieved, as there.

use axum::Json;
use axum::extract::{Request, State};
use domain::callback_url::CallbackUrl;
use domain::cargo_group::GroupTimes;
use domain::dropin::{BATCH_WINDOW, Facade};
use domain::id::{GroupId, ParcelKind};
use domain::time::{Timestamp, to_wire};
use http::StatusCode;
use rand::RngExt as _;
use serde_json::Value;
use store::shard::dropin::{self, DropinBatch, DropinCreation, NewDropinBatch};
use store::shard::parcel::{self, ParcelRow};

use crate::api_error::{ApiError, OpenAiApiError};
use crate::caller::Caller;
use crate::dropin::batch_id::read_id;
use crate::dropin::error_text::message_of;
use crate::dropin::funds::{BatchHold, loadable_items};
use crate::dropin::openai::batch_object::write_batch;
use crate::dropin::openai::caller::OpenAiCaller;
use crate::dropin::openai::envelope::LineError;
use crate::dropin::openai::file_check::{FileCheck, missing_file};
use crate::dropin::openai::file_id::{FILE_PREFIX, batch_id};
use crate::dropin::openai::options::{BatchOptions, BatchRequest, parse_batch_request};
use crate::dropin::repeats::RepeatReader;
use crate::groups::errors::too_many_groups;
use crate::request_body::BufferedBody;
use crate::state::App;

/// The body names a file and some tags.
const MAX_BODY_BYTES: usize = 64 << 10;

pub(crate) async fn create_batch(
    OpenAiCaller(caller): OpenAiCaller,
    State(app): State<App>,
    request: Request,
) -> Result<Json<Value>, OpenAiApiError> {
    let shard = &app.shard_handle(caller.berth)?.shard;
    let now = shard.clock.now();
    let count = app.limiter.count_request(caller.project).await;
    count.map_err(ApiError::from)?;
    let mut repeat = RepeatReader::new(request.headers(), now)?;
    let BufferedBody(body) = BufferedBody::read(request, MAX_BODY_BYTES).await?;
    repeat.push(&body);
    let wanted = parse_batch_request(&body)?;
    let repeat = repeat.finish();
    let (project, facade) = (caller.project, Facade::OpenAi);
    let earlier = dropin::find_repeat(shard, project, facade, &repeat, now).await?;
    if let Some(earlier) = earlier {
        return answer(earlier);
    }
    check_callback(&app, wanted.options.callback_url.as_deref())?;
    let file = find_file(&app, &caller, &wanted, now).await?;
    let expires_at = now + wanted.window;
    check_window(&app, &caller, &file, now, expires_at)?;
    let group = GroupId::new(now, caller.berth, rand::rng().random());
    let check = FileCheck {
        app: &app,
        caller: &caller,
        file: &file,
        endpoint: wanted.endpoint,
        group,
    };
    let is_short = wanted.window < BATCH_WINDOW;
    let options = BatchOptions {
        deadline_at: is_short.then(|| to_wire(expires_at)),
        ..wanted.options
    };
    let checking = app.dropins.limits.begin_file_check(project)?;
    // On the heap, because it is large.
    let checked = Box::pin(check.run(options)).await?;
    drop(checking);
    let errors = find_errors(&app, &caller, checked.errors, checked.hold).await?;
    let options = serde_json::to_vec(&checked.options).map_err(ApiError::internal)?;
    let failure = (!errors.is_empty()).then(|| serde_json::to_vec(&errors));
    let new = NewDropinBatch {
        group,
        organization: caller.organization,
        project,
        key: caller.key,
        facade,
        parcel: file.id,
        // A batch that fails has nothing to load.
        items: if errors.is_empty() { file.items } else { 0 },
        name: batch_id(group),
        options: Some(options),
        expires_at,
        failure: failure.transpose().map_err(ApiError::internal)?,
        repeat,
    };
    let created = dropin::create(shard, &new, now).await?;
    app.dropins.created.notify_waiters();
    answer(created)
}

fn answer(creation: DropinCreation) -> Result<Json<Value>, OpenAiApiError> {
    match creation {
        DropinCreation::Created(batch) => Ok(Json(write_batch(&before_checks(batch)))),
        DropinCreation::Repeated(batch) => Ok(Json(write_batch(&batch))),
        DropinCreation::ParcelGone => Err(missing_file()),
        DropinCreation::KeyReused => Err(ApiError::idempotency_key_reused().into()),
        DropinCreation::TooMany => Err(too_many_groups().into()),
    }
}

/// The batch as a client expects it in the answer of a create: not failed yet.
fn before_checks(batch: DropinBatch) -> DropinBatch {
    if batch.failed_at.is_none() {
        return batch;
    }
    DropinBatch {
        failure: None,
        failed_at: None,
        unpacked_at: None,
        times: GroupTimes {
            sealed_at: None,
            completed_at: None,
            ..batch.times
        },
        ..batch
    }
}

fn check_callback(app: &App, url: Option<&str>) -> Result<(), OpenAiApiError> {
    let parsed = url.map(|url| CallbackUrl::parse(url, app.rules.schemes));
    match parsed {
        Some(Err(refusal)) => {
            let (param, message) = (Some("callback_url"), refusal.to_string());
            Err(OpenAiApiError::invalid(param, "invalid_value", message))
        }
        Some(Ok(_)) | None => Ok(()),
    }
}

async fn find_file(
    app: &App,
    caller: &Caller,
    wanted: &BatchRequest,
    now: Timestamp,
) -> Result<ParcelRow, OpenAiApiError> {
    let shard = &app.shard_handle(caller.berth)?.shard;
    let id = read_id::<ParcelKind>(FILE_PREFIX, &wanted.input_file_id);
    let id = id.filter(|id| id.berth() == caller.berth);
    let found = match id {
        Some(id) => parcel::find(shard, caller.project, Facade::OpenAi, id, now).await?,
        None => None,
    };
    found.ok_or_else(missing_file)
}

/// A file with more requests than a batch may have, or than the plan loads in time, is refused.
fn check_window(
    app: &App,
    caller: &Caller,
    file: &ParcelRow,
    now: Timestamp,
    expires_at: Timestamp,
) -> Result<(), OpenAiApiError> {
    let max_items = Facade::OpenAi.max_items();
    if file.items > max_items {
        let message = format!(
            "The input file has {} requests. A batch has at most {max_items}.",
            file.items
        );
        let param = Some("input_file_id");
        return Err(OpenAiApiError::invalid(param, "too_many_requests", message));
    }
    let rate = app.plan_limits.borrow().for_plan(caller.plan).rate;
    let loadable = loadable_items(rate, now, expires_at);
    if file.items > loadable {
        let message = format!(
            "The input file has {} requests, and your plan loads {loadable} within the completion \
             window. Use a longer window, a smaller file or another plan.",
            file.items
        );
        let param = Some("completion_window");
        return Err(OpenAiApiError::with_status(
            StatusCode::BAD_REQUEST,
            param,
            "completion_window_too_short",
            message,
        ));
    }
    Ok(())
}

/// A batch with a wrong line, or one that the organization cannot pay, fails before anything is
/// loaded.
async fn find_errors(
    app: &App,
    caller: &Caller,
    mut errors: Vec<LineError>,
    hold: BatchHold,
) -> Result<Vec<LineError>, OpenAiApiError> {
    if !errors.is_empty() {
        return Ok(errors);
    }
    if let Err(refusal) = hold.check(app, caller).await? {
        let detail = ApiError::from(refusal).into_body().detail;
        errors.push(LineError {
            code: "insufficient_quota",
            line: None,
            message: message_of(&detail),
            param: None,
        });
    }
    Ok(errors)
}
