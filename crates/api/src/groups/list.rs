//! `GET /groups`: a project's groups, newest first, in pages.

use axum::Json;
use axum::extract::State;
use http::Uri;
use store::shard::group;
use wire::group::GroupListResponse;

use crate::api_error::ApiError;
use crate::auth::LimitedCaller;
use crate::groups::{cursor, query, record};
use crate::state::App;

pub(crate) async fn list(
    LimitedCaller(caller): LimitedCaller,
    State(app): State<App>,
    uri: Uri,
) -> Result<Json<GroupListResponse>, ApiError> {
    let query = query::parse_list_query(&uri)?;
    let shard = &app.shard_handle(caller.berth)?.shard;
    // One group more than the page shows whether there is another page.
    let (project, limit) = (caller.project, query.limit.saturating_add(1));
    let mut page = group::list(shard, project, &query.filter, query.before, limit).await?;
    let page_size = usize::try_from(query.limit).unwrap_or(usize::MAX);
    let has_more = page.len() > page_size;
    page.truncate(page_size);
    let last = page.last().filter(|_| has_more);
    Ok(Json(GroupListResponse {
        next_cursor: last.map(|last| cursor::encode_cursor(last.id)),
        groups: page.into_iter().map(record::group_response).collect(),
    }))
}
