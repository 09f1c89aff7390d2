//! Downloads the results of a group, streamed from the API.

use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::header::{ACCEPT_ENCODING, CONTENT_DISPOSITION};
use http::{HeaderMap, HeaderValue};
use store::view::groups;

use super::detail::parse_group_id;
use crate::access::ProjectAccess;
use crate::page_error::PageError;
use crate::project::api_call;
use crate::read_audit::record_export;
use crate::state::DashboardState;

/// One line of JSON for each completed cargo, in the order of positions.
pub(crate) async fn download(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    Path((_, group)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let group = parse_group_id(&within, &group)?;
    let name = groups::find_name(within.shard(), within.id(), group).await?;
    let name = name.ok_or(PageError::NotFound)?;
    record_export(&state, &within, "group.results_exported", group.to_string()).await?;
    let mut request = Request::get(format!("/groups/{group}/results"));
    if let Some(accepted) = headers.get(ACCEPT_ENCODING) {
        request = request.header(ACCEPT_ENCODING, accepted);
    }
    let mut response = api_call::send(&state, &within, request).await?;
    let disposition = format!("attachment; filename=\"{}.jsonl\"", file_stem(&name));
    let disposition = HeaderValue::try_from(disposition).map_err(|_| PageError::NotFound)?;
    response
        .headers_mut()
        .insert(CONTENT_DISPOSITION, disposition);
    Ok(response)
}

/// Names may have colons, which file names on some systems may not have.
fn file_stem(name: &str) -> String {
    name.replace(':', "-")
}
