//! The API as our own pages ask it: exactly these routes, in the name of whoever is signed in.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse as _, Response};
use domain::id::FileId;
use http::header::CONTENT_TYPE;
use http::{Method, StatusCode};
use http_body_util::{BodyExt as _, Collected, Limited};
use serde::Deserialize;
use serde_json::{Value, json};
use store::control::audit::{self, Act};

use crate::form;
use crate::no::No;
use crate::seat::InProject;
use crate::state::Desk;

/// Answers are records and grants of at most 64 parts.
const LARGEST: usize = 1 << 20;

#[derive(Debug, Deserialize)]
pub(crate) struct Named {
    file: String,
}

impl Named {
    /// Nothing but an id goes into an address.
    pub(super) fn id(&self) -> Result<FileId, No> {
        self.file.parse().map_err(|_| No::NotFound)
    }
}

pub(crate) async fn create(
    State(desk): State<Desk>,
    within: InProject,
    request: Request,
) -> Result<Response, No> {
    let body = form::read(request.into_body(), LARGEST).await?;
    let read: Value = serde_json::from_slice(&body).unwrap_or_default();
    let name = read.get("filename").and_then(Value::as_str);
    let name = name.unwrap_or_default().chars().take(200).collect();
    announce(&desk, &within, "file.upload_begun", name, String::new()).await?;
    Ok(pass(&desk, &within, Method::POST, "/files", Body::from(body)).await)
}

pub(crate) async fn parts(
    State(desk): State<Desk>,
    within: InProject,
    Path(named): Path<Named>,
    request: Request,
) -> Result<Response, No> {
    let path = format!("/files/{}/parts", named.id()?);
    Ok(pass(&desk, &within, Method::POST, &path, request.into_body()).await)
}

pub(crate) async fn complete(
    State(desk): State<Desk>,
    within: InProject,
    Path(named): Path<Named>,
    request: Request,
) -> Result<Response, No> {
    let path = format!("/files/{}/complete", named.id()?);
    Ok(pass(&desk, &within, Method::POST, &path, request.into_body()).await)
}

pub(crate) async fn record(
    State(desk): State<Desk>,
    within: InProject,
    Path(named): Path<Named>,
) -> Result<Response, No> {
    let path = format!("/files/{}", named.id()?);
    Ok(pass(&desk, &within, Method::GET, &path, Body::empty()).await)
}

/// What a person is about to change.
pub(super) async fn announce(
    desk: &Desk,
    within: &InProject,
    action: &str,
    subject: String,
    detail: String,
) -> Result<(), No> {
    let act = Act {
        organization: Some(within.place.organization),
        project: Some(within.id()),
        action,
        subject,
        detail,
    };
    let now = desk.clock.now();
    Ok(audit::announce(&desk.control, &within.author(), act, now).await?)
}

/// The API checks the body and everything else; that the project is active is checked with a
/// key, which nobody has here.
pub(super) async fn pass(
    desk: &Desk,
    within: &InProject,
    method: Method,
    path: &str,
    body: Body,
) -> Response {
    if !within.project.is_active {
        let said = json!({
            "error": "project_inactive",
            "message": "Project is inactive. An owner can activate it in its settings.",
        });
        return (StatusCode::FORBIDDEN, Json(said)).into_response();
    }
    let request = Request::builder().method(method).uri(path);
    let request = request.header(CONTENT_TYPE, "application/json").body(body);
    match request {
        Ok(request) => desk.api.ask(within.acting(), request).await,
        Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}

/// What the API answered, read: its body, or its refusal in words.
pub(super) async fn ask(
    desk: &Desk,
    within: &InProject,
    method: Method,
    path: &str,
    body: &Value,
) -> Result<Value, (StatusCode, String)> {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let answer = pass(desk, within, method, path, Body::from(body)).await;
    let status = answer.status();
    let read = Limited::new(answer.into_body(), LARGEST).collect().await;
    let bytes = read.map(Collected::to_bytes).unwrap_or_default();
    let said: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    if status.is_success() {
        return Ok(said);
    }
    let message = said.get("message").and_then(|message| message.as_str());
    let message = message.unwrap_or("The API did not say why. Try again in a moment.");
    Err((status, message.to_owned()))
}
