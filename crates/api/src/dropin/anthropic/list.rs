//! `GET /anthropic/v1/messages/batches`: the batches of the project, newest first.

use axum::Json;
use axum::extract::{FromRequestParts as _, Query, Request, State};
use domain::dropin::Facade;
use domain::id::GroupId;
use serde::{Deserialize, Serialize};
use store::shard::dropin::{self, DropinPage};

use super::batch_object::{MessageBatch, batch_object};
use super::error::AnthropicError;
use crate::auth::LimitedCaller;
use crate::dropin::batch_id::{MESSAGE_BATCH_PREFIX, message_batch_id, read_id};
use crate::state::App;

const DEFAULT_LIMIT: u32 = 20;
const MAX_LIMIT: u32 = 1000;

#[derive(Debug, Default, Deserialize)]
struct ListQuery {
    limit: Option<u32>,
    after_id: Option<String>,
    before_id: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct MessageBatchList {
    data: Vec<MessageBatch>,
    has_more: bool,
    first_id: Option<String>,
    last_id: Option<String>,
}

pub(super) async fn list(
    State(app): State<App>,
    request: Request,
) -> Result<Json<MessageBatchList>, AnthropicError> {
    let (mut parts, _) = request.into_parts();
    let LimitedCaller(caller) = LimitedCaller::from_request_parts(&mut parts, &app).await?;
    let query = Query::<ListQuery>::try_from_uri(&parts.uri);
    let Query(query) = query.map_err(|_| AnthropicError::invalid("The query cannot be read."))?;
    let (page, limit) = read_page(&query)?;
    let shard = &app.shard_handle(caller.berth)?.shard;
    let (project, facade) = (caller.project, Facade::Anthropic);
    // One more than the page shows whether there is another page.
    let mut batches = dropin::list(shard, project, facade, page, limit + 1).await?;
    let size = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = batches.len() > size;
    match page {
        DropinPage::OlderThan(_) => batches.truncate(size),
        // The page ends before `before_id`, so the newest one is beyond it.
        DropinPage::NewerThan(_) if has_more => drop(batches.remove(0)),
        DropinPage::NewerThan(_) => {}
    }
    let origin = app.dropins.options.origin.of_request(&parts);
    let id_of = |batch: &dropin::DropinBatch| message_batch_id(batch.group);
    Ok(Json(MessageBatchList {
        first_id: batches.first().map(id_of),
        last_id: batches.last().map(id_of),
        data: batches.iter().map(|it| batch_object(it, &origin)).collect(),
        has_more,
    }))
}

fn read_page(query: &ListQuery) -> Result<(DropinPage, u32), AnthropicError> {
    let limit = query.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        let message = format!("limit: 1 to {MAX_LIMIT} are accepted");
        return Err(AnthropicError::invalid(message));
    }
    let read = |name: &str, text: Option<&str>| {
        let id = text.map(|text| {
            let id: Option<GroupId> = read_id(MESSAGE_BATCH_PREFIX, text);
            id.ok_or_else(|| AnthropicError::invalid(format!("{name}: this is not a batch id")))
        });
        id.transpose()
    };
    let after = read("after_id", query.after_id.as_deref())?;
    let before = read("before_id", query.before_id.as_deref())?;
    match (after, before) {
        (Some(_), Some(_)) => Err(AnthropicError::invalid(
            "after_id and before_id cannot be combined",
        )),
        (after, None) => Ok((DropinPage::OlderThan(after), limit)),
        (None, Some(before)) => Ok((DropinPage::NewerThan(before), limit)),
    }
}
