//! Retrieving, listing and cancelling batches.

use axum::Json;
use axum::extract::{Path, State};
use domain::dropin::Facade;
use domain::id::GroupId;
use http::{StatusCode, Uri};
use serde_json::{Value, json};
use store::shard::dropin::{self, DropinBatch, DropinPage};
use store::shard::group;

use crate::api_error::OpenAiApiError;
use crate::caller::Caller;
use crate::dropin::openai::batch_object::{BatchStatus, write_batch};
use crate::dropin::openai::caller::OpenAiCaller;
use crate::dropin::openai::file_id::{batch_id, read_batch_id};
use crate::dropin::openai::list_query::parse_list_query;
use crate::state::App;

const MAX_LISTED_BATCHES: u32 = 100;

pub(crate) async fn retrieve(
    OpenAiCaller(caller): OpenAiCaller,
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<Value>, OpenAiApiError> {
    let batch = find_batch(&app, &caller, &id).await?;
    Ok(Json(write_batch(&batch)))
}

pub(crate) async fn list(
    OpenAiCaller(caller): OpenAiCaller,
    State(app): State<App>,
    uri: Uri,
) -> Result<Json<Value>, OpenAiApiError> {
    let query = parse_list_query(&uri, MAX_LISTED_BATCHES)?;
    let after = query.after.map(|id| {
        let id = read_batch_id(&id, caller.berth);
        id.ok_or_else(|| OpenAiApiError::invalid(Some("after"), "invalid_value", NO_BATCH))
    });
    let page = DropinPage::OlderThan(after.transpose()?);
    let shard = &app.shard_handle(caller.berth)?.shard;
    let limit = query.limit;
    // One more than asked for says whether there are more.
    let found = dropin::list(shard, caller.project, Facade::OpenAi, page, limit + 1).await?;
    let has_more = u64::from(limit) < found.len() as u64;
    let page = found
        .iter()
        .take(usize::try_from(limit).unwrap_or_default());
    let data: Vec<Value> = page.map(write_batch).collect();
    Ok(Json(list_object(&data, has_more)))
}

pub(crate) async fn cancel(
    OpenAiCaller(caller): OpenAiCaller,
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<Value>, OpenAiApiError> {
    let batch = find_batch(&app, &caller, &id).await?;
    let status = BatchStatus::of(&batch);
    if status.is_terminal() {
        let message = format!(
            "The batch has the status {} and cannot be cancelled.",
            status.as_str()
        );
        let (status, code) = (StatusCode::CONFLICT, "batch_not_cancellable");
        return Err(OpenAiApiError::with_status(status, None, code, message));
    }
    let shard = &app.shard_handle(caller.berth)?.shard;
    let now = shard.clock.now();
    group::request_cancel(shard, caller.project, batch.group, now).await?;
    let batch = find_batch(&app, &caller, &batch_id(batch.group)).await?;
    Ok(Json(write_batch(&batch)))
}

const NO_BATCH: &str = "There is no batch with this id.";

async fn find_batch(app: &App, caller: &Caller, id: &str) -> Result<DropinBatch, OpenAiApiError> {
    let group = read_batch_id(id, caller.berth);
    let found = match group {
        Some(group) => find_by_group(app, caller, group).await?,
        None => None,
    };
    found.ok_or_else(|| {
        let (status, code) = (StatusCode::NOT_FOUND, "not_found");
        OpenAiApiError::with_status(status, None, code, NO_BATCH)
    })
}

pub(crate) async fn find_by_group(
    app: &App,
    caller: &Caller,
    group: GroupId,
) -> Result<Option<DropinBatch>, OpenAiApiError> {
    let shard = &app.shard_handle(caller.berth)?.shard;
    Ok(dropin::find(shard, caller.project, Facade::OpenAi, group).await?)
}

/// A page, with the ids of its first and last object.
pub(crate) fn list_object(data: &[Value], has_more: bool) -> Value {
    let id = |object: Option<&Value>| object.and_then(|object| object.get("id")).cloned();
    json!({
        "object": "list",
        "first_id": id(data.first()),
        "last_id": id(data.last()),
        "data": data,
        "has_more": has_more,
    })
}
