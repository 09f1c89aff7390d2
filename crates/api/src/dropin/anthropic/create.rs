//! `POST /anthropic/v1/messages/batches`: stores the items and creates the batch.

use axum::Json;
use axum::extract::{FromRequestParts as _, Request, State};
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use domain::callback_url::CallbackUrl;
use domain::dropin::{BATCH_WINDOW, Facade};
use domain::id::GroupId;
use domain::time::Timestamp;
use rand::RngExt as _;
use serde_json::{Map, Value, json};
use store::shard::dropin::{self, DropinBatch, DropinCreation, NewDropinBatch};
use store::shard::parcel;

use super::batch_object::batch_object;
use super::body_reader::{BodyReader, ReadBody};
use super::error::AnthropicError;
use crate::auth::AdmittedCaller;
use crate::caller::Caller;
use crate::dropin::batch_id::message_batch_id;
use crate::dropin::error_text::message_of;
use crate::dropin::funds::loadable_items;
use crate::dropin::repeats::RepeatReader;
use crate::groups::errors::too_many_groups;
use crate::request_body;
use crate::state::{App, ShardHandle};

/// The backstop counts the request once. The items are counted when they are loaded.
pub(super) async fn create(
    State(app): State<App>,
    request: Request,
) -> Result<Response, AnthropicError> {
    let (mut parts, body) = request.into_parts();
    let AdmittedCaller(caller) = AdmittedCaller::from_request_parts(&mut parts, &app).await?;
    request_body::refuse_encoded(&parts.headers)?;
    let limits = &app.dropins.limits;
    let permit = limits.begin_upload(caller.project, &parts.headers)?;
    if permit.is_some() {
        request_body::mark_streamed(&parts.extensions);
    }
    let handle = app.shard_handle(caller.berth)?;
    let now = handle.shard.clock.now();
    let repeat = RepeatReader::new(&parts.headers, now)?;
    let group = GroupId::new(now, caller.berth, rand::rng().random());
    let reader = BodyReader::begin(&app, handle, &caller, group).await?;
    // On the heap, because it is large.
    let read = Box::pin(reader.read(handle, body, repeat)).await?;
    drop(permit);
    let parcel = read.parcel.id;
    let stored = store_batch(&app, handle, &caller, group, read).await;
    if stored.is_err() {
        parcel::expire_at(&handle.shard, caller.project, parcel, now).await?;
    }
    let batch = stored?;
    app.dropins.created.notify_waiters();
    Ok(respond(&app, &parts, &batch))
}

fn respond(app: &App, parts: &Parts, batch: &DropinBatch) -> Response {
    let origin = app.dropins.options.origin.of_request(parts);
    Json(batch_object(batch, &origin)).into_response()
}

async fn store_batch(
    app: &App,
    handle: &ShardHandle,
    caller: &Caller,
    group: GroupId,
    read: ReadBody,
) -> Result<DropinBatch, AnthropicError> {
    let shard = &handle.shard;
    let now = shard.clock.now();
    let (project, parcel) = (caller.project, read.parcel.id);
    // A repeat gets its batch, also if the credit is held by that batch already.
    let earlier = dropin::find_repeat(shard, project, Facade::Anthropic, &read.repeat, now).await?;
    let created = if let Some(earlier) = earlier {
        earlier
    } else {
        let options = read_options(app, read.envelope)?;
        check_pace(app, caller, read.parcel.items, now)?;
        if let Err(refusal) = read.hold.check(app, caller).await? {
            return Err(AnthropicError::billing(refusal));
        }
        let new = NewDropinBatch {
            group,
            organization: caller.organization,
            project,
            key: caller.key,
            facade: Facade::Anthropic,
            parcel,
            items: read.parcel.items,
            name: message_batch_id(group),
            options,
            expires_at: now + BATCH_WINDOW,
            failure: None,
            repeat: read.repeat,
        };
        dropin::create(shard, &new, now).await?
    };
    match created {
        DropinCreation::Created(batch) => Ok(batch),
        DropinCreation::Repeated(batch) => {
            parcel::expire_at(shard, project, parcel, now).await?;
            Ok(batch)
        }
        DropinCreation::ParcelGone => {
            let message = "The items expired before the batch was created. Send them again.";
            Err(AnthropicError::invalid(message))
        }
        DropinCreation::KeyReused => {
            let message = "This Idempotency-Key was used with another body in the last 24 hours. \
                           Use a new key for a new batch.";
            Err(AnthropicError::invalid(message))
        }
        DropinCreation::TooMany => {
            let detail = too_many_groups().into_body().detail;
            Err(AnthropicError::limit_reached(message_of(&detail)))
        }
    }
}

/// The fields beside the items: ours is `callback_url`, which gets each result.
fn read_options(
    app: &App,
    mut envelope: Map<String, Value>,
) -> Result<Option<Vec<u8>>, AnthropicError> {
    envelope.remove("requests");
    envelope.retain(|_, value| !value.is_null());
    let url = envelope.remove("callback_url");
    if let Some(name) = envelope.keys().next() {
        let message = format!("{name}: this field is not supported");
        return Err(AnthropicError::invalid(message));
    }
    let Some(url) = url else {
        return Ok(None);
    };
    let text = url.as_str().unwrap_or_default();
    if let Err(refusal) = CallbackUrl::parse(text, app.rules.schemes) {
        return Err(AnthropicError::invalid(refusal.to_string()));
    }
    Ok(Some(json!({"callback_url": url}).to_string().into_bytes()))
}

/// A batch that the plan cannot load within its window would expire for certain.
fn check_pace(
    app: &App,
    caller: &Caller,
    items: u64,
    now: Timestamp,
) -> Result<(), AnthropicError> {
    let rate = app.plan_limits.borrow().for_plan(caller.plan).rate;
    let loadable = loadable_items(rate, now, now + BATCH_WINDOW);
    if items <= loadable {
        return Ok(());
    }
    Err(AnthropicError::invalid(format!(
        "requests: the plan {} loads {} items at once and {} per minute, so {loadable} items in 24 \
         hours. This batch has {items}. Send a smaller batch, or upgrade the plan.",
        caller.plan.as_str(),
        rate.burst,
        rate.per_minute
    )))
}
