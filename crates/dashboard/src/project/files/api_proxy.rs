//! Forwards the upload script's file requests to the API on behalf of the signed-in user.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use domain::id::FileId;
use http::header::CONTENT_TYPE;
use http::{Method, StatusCode};
use http_body_util::{BodyExt as _, Collected, Limited};
use serde::Deserialize;
use serde_json::{Value, json};
use store::control::audit_log::{self, AuditEvent};

use crate::access::ProjectAccess;
use crate::page_error::PageError;
use crate::state::DashboardState;

/// Enough for file records and grants of 64 parts.
const MAX_BODY_BYTES: usize = 1 << 20;

#[derive(Debug, Deserialize)]
pub(crate) struct FilePathParams {
    file: String,
}

impl FilePathParams {
    /// Parses the id, so that no other text gets into the API's path.
    pub(super) fn parse_id(&self) -> Result<FileId, PageError> {
        self.file.parse().map_err(|_| PageError::NotFound)
    }
}

pub(crate) async fn create(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    request: Request,
) -> Result<Response, PageError> {
    let body = request.into_body();
    let response = forward(&state, &within, Method::POST, "/files", body).await;
    let (parts, body) = response.into_parts();
    let body = read_body(body).await;
    // The entry has the id and not the name, which is encrypted elsewhere. It is written before
    // the browser gets the grant.
    if parts.status.is_success() {
        let record: Value = serde_json::from_slice(&body).unwrap_or_default();
        let id = record.get("id").and_then(Value::as_str);
        let id = id.unwrap_or_default().to_owned();
        record_audit(&state, &within, "file.upload_begun", id, String::new()).await?;
    }
    Ok(Response::from_parts(parts, Body::from(body)))
}

pub(crate) async fn parts(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    Path(named): Path<FilePathParams>,
    request: Request,
) -> Result<Response, PageError> {
    let path = format!("/files/{}/parts", named.parse_id()?);
    Ok(forward(&state, &within, Method::POST, &path, request.into_body()).await)
}

pub(crate) async fn complete(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    Path(named): Path<FilePathParams>,
    request: Request,
) -> Result<Response, PageError> {
    let path = format!("/files/{}/complete", named.parse_id()?);
    Ok(forward(&state, &within, Method::POST, &path, request.into_body()).await)
}

pub(crate) async fn read_record(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    Path(named): Path<FilePathParams>,
) -> Result<Response, PageError> {
    let path = format!("/files/{}", named.parse_id()?);
    Ok(forward(&state, &within, Method::GET, &path, Body::empty()).await)
}

/// Writes the audit log before the change is made.
pub(super) async fn record_audit(
    state: &DashboardState,
    within: &ProjectAccess,
    action: &str,
    subject: String,
    detail: String,
) -> Result<(), PageError> {
    let act = AuditEvent {
        organization: Some(within.scope.organization),
        project: Some(within.id()),
        action,
        subject,
        detail,
    };
    let now = state.clock.now();
    Ok(audit_log::record(&state.control, &within.actor(), act, now).await?)
}

/// The API makes all other checks. It checks with the key whether the project is active, and
/// there is no key here.
pub(super) async fn forward(
    state: &DashboardState,
    within: &ProjectAccess,
    method: Method,
    path: &str,
    body: Body,
) -> Response {
    if !within.project.is_active {
        let body = json!({
            "error": "project_inactive",
            "message": "Project is inactive. An owner can activate it in its settings.",
        });
        return (StatusCode::FORBIDDEN, Json(body)).into_response();
    }
    let request = Request::builder().method(method).uri(path);
    let request = request.header(CONTENT_TYPE, "application/json").body(body);
    match request {
        Ok(request) => state.api.call(within.caller_identity(), request).await,
        Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}

/// The body of an answer of the API.
async fn read_body(body: Body) -> Bytes {
    let read = Limited::new(body, MAX_BODY_BYTES).collect().await;
    read.map(Collected::to_bytes).unwrap_or_default()
}

/// The API's answer to a request that it refused.
#[derive(Debug)]
pub(super) struct ApiRefusal {
    pub(super) status: StatusCode,
    pub(super) message: String,
}

/// Calls the API and returns its JSON body.
pub(super) async fn call_api(
    state: &DashboardState,
    within: &ProjectAccess,
    method: Method,
    path: &str,
    body: &Value,
) -> Result<Value, ApiRefusal> {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let response = forward(state, within, method, path, Body::from(body)).await;
    let status = response.status();
    let body = read_body(response.into_body()).await;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    if status.is_success() {
        return Ok(body);
    }
    let message = body.get("message").and_then(|message| message.as_str());
    let message = message.unwrap_or("The API returned no error message. Try again later.");
    Err(ApiRefusal {
        status,
        message: message.to_owned(),
    })
}
