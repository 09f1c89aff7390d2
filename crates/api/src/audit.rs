//! `GET /audit`: the audit log as JSON lines, oldest first.
//!
//! Audit tokens authenticate it, not API keys: a key that leaks must not show who works here.

mod lines;
mod query;

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use domain::api_key::ApiKeyRefusal;
use domain::request_buckets::RequestLimitExceeded;

use crate::api_error::ApiError;
use crate::auth::API_KEY_HEADER;
use crate::state::App;

pub use lines::encode_lines;
pub(crate) use query::{MAX_AUDIT_PAGE_SIZE, parse_audit_query};

pub(crate) async fn list(
    State(app): State<App>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, ApiError> {
    let presented = headers.get(API_KEY_HEADER).map(HeaderValue::as_bytes);
    let presented = presented.filter(|value| !value.is_empty());
    let presented = presented.ok_or(ApiKeyRefusal::Missing)?;
    let _permit = app.audit.acquire().await?;
    let organization = app.audit.authenticate(presented).await?.organization;
    let counted = app.route_limiter.count_audit_read(organization);
    counted.map_err(too_many_requests)?;
    let page = parse_audit_query(&uri)?;
    let entries = app.audit.list_after(organization, page.after, page.limit);
    let lines = encode_lines(entries.await?).map_err(ApiError::internal)?;
    let headers = [
        (CONTENT_TYPE, "application/x-ndjson"),
        (CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, lines).into_response())
}

pub(crate) fn too_many_requests(exceeded: RequestLimitExceeded) -> ApiError {
    let detail = "Too many requests for this audit log. Please slow down.";
    ApiError::with_text(StatusCode::TOO_MANY_REQUESTS, detail)
        .with_header(RETRY_AFTER, exceeded.retry_after_seconds.into())
}
