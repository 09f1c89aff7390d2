//! `GET /groups/{group_id}/results`: the results of a group as NDJSON, streamed.
//!
//! A page of results is in memory at a time, and a project reads a few streams at a time. A download
//! that breaks off is resumed with `after`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, VARY};
use http::{HeaderMap, HeaderValue, Uri};

use crate::api_error::ApiError;
use crate::groups::group_wait::GroupWaiter;
use crate::groups::query;
use crate::groups::requested_group::RequestedGroup;
use crate::groups::results::encoding::{LineEncoder, ResultEncoding};
use crate::groups::results::reader::ResultReader;
use crate::groups::results::stream::ResultStream;
use crate::key_recheck::KeyRecheck;
use crate::project_permit::hold_while_streaming;
use crate::state::App;

mod encoding;
mod line;
mod reader;
mod stream;

const NDJSON: HeaderValue = HeaderValue::from_static("application/x-ndjson");

pub(crate) async fn results(
    requested: RequestedGroup,
    key: KeyRecheck,
    State(app): State<App>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = query::parse_results_query(&uri)?;
    let handle = app.shard_handle(requested.caller.berth)?;
    let project = requested.caller.project;
    let permit = app.result_streams.begin(project)?;
    let wait = query.wait.min(app.max_wait);
    let waiter = GroupWaiter::register(handle, project, requested.id, wait);
    let group = requested.find_row(&handle.shard).await?;
    let mut reader = ResultReader::new(Arc::clone(&handle.shard), project, requested.id, query);
    // An error has a status only before the first byte of the body is sent.
    let first = reader.next_lines().await?;
    let encoding = ResultEncoding::accepted_by(&headers);
    let encoder = LineEncoder::new(encoding).map_err(ApiError::internal)?;
    let mut response_headers = HeaderMap::new();
    response_headers.insert(CONTENT_TYPE, NDJSON);
    response_headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if let Some(name) = encoding.name() {
        response_headers.insert(CONTENT_ENCODING, HeaderValue::from_static(name));
    }
    waiter.add_retry_after(&mut response_headers);
    let is_completed = group.times.completed_at.is_some();
    let waiters = Arc::clone(&handle.waiters);
    let stream = ResultStream::new(reader, encoder, waiter, waiters, is_completed, first);
    let chunks = key.guard(stream.into_chunks());
    let body = Body::from_stream(hold_while_streaming(chunks, permit));
    Ok((response_headers, body).into_response())
}
