//! The page of one file: details, validation steps, actions.

use askama::Template;
use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use chrono::TimeDelta;
use domain::file::{FileStatus, MAX_TTL_SECONDS, MIN_TTL_SECONDS};
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use store::shard::file::{self, FileRow};
use store::view::files::{FileProgress, find_progress};

use super::api_proxy::{ApiRefusal, FilePathParams, call_api, record_audit};
use super::explanations;
use super::steps::{self, FileStep};
use crate::access::{ClientInfo, ProjectAccess};
use crate::page::{NavItem, PageLayout, render_page_with_status};
use crate::page_error::PageError;
use crate::read_audit::{record_export, record_operator_read};
use crate::state::DashboardState;
use crate::text;

/// Choices of a new expiry, in seconds from now.
const TTL_CHOICES: [(u32, &str); 6] = [
    (MIN_TTL_SECONDS, "in 1 hour"),
    (86_400, "in 1 day"),
    (604_800, "in 7 days"),
    (2_592_000, "in 30 days"),
    (7_776_000, "in 90 days"),
    (MAX_TTL_SECONDS, "in 1 year"),
];

#[derive(Debug, Template)]
#[template(path = "file.html")]
struct FilePage {
    page: PageLayout,
    file: FileRow,
    progress: FileProgress,
    steps: Vec<FileStep>,
    sha256: String,
    metadata: Option<String>,
    /// The API's error message for the submitted form.
    error: Option<String>,
}

impl FilePage {
    fn is_open(&self) -> bool {
        matches!(
            self.file.status,
            FileStatus::Uploading | FileStatus::Validating
        )
    }

    fn is_ready(&self) -> bool {
        self.file.status == FileStatus::Ready
    }

    fn can_be_deleted(&self) -> bool {
        self.file.status != FileStatus::Expired
    }

    fn ttl_text(&self) -> String {
        text::duration(TimeDelta::seconds(self.file.ttl_seconds.into()))
    }

    fn is_deduplicated(&self) -> bool {
        self.file
            .object
            .is_some_and(|object| object != self.file.id)
    }
}

async fn render_file(
    within: &ProjectAccess,
    client: &ClientInfo,
    named: &FilePathParams,
    refused: Option<ApiRefusal>,
) -> Result<Response, PageError> {
    let (shard, id) = (within.shard(), named.parse_id()?);
    let found = file::find(shard, within.id(), id).await?;
    let file = found.ok_or(PageError::NotFound)?;
    let progress = find_progress(shard, within.id(), id).await?;
    let progress = progress.ok_or(PageError::NotFound)?;
    let metadata = file.metadata.as_deref().map(|json| {
        let pretty = serde_json::from_slice::<Value>(json);
        let pretty = pretty.and_then(|value| serde_json::to_string_pretty(&value));
        pretty.unwrap_or_else(|_| String::from_utf8_lossy(json).into_owned())
    });
    let (status, refused) = match refused {
        Some(refusal) => (refusal.status, Some(refusal.message)),
        None => (StatusCode::OK, None),
    };
    let page = PageLayout::for_project(file.filename.clone(), NavItem::Files, within, client);
    let page = FilePage {
        // The live stream can only GET, so a page that answers a form is not live.
        page: if refused.is_none() { page.live() } else { page },
        steps: steps::file_steps(&file, &progress),
        sha256: hex::encode(file.sha256.0),
        metadata: metadata.filter(|tags| tags != "{}"),
        file,
        progress,
        error: refused,
    };
    Ok(render_page_with_status(status, &page))
}

pub(crate) async fn page(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    client: ClientInfo,
    Path(named): Path<FilePathParams>,
) -> Result<Response, PageError> {
    let page = render_file(&within, &client, &named, None).await?;
    if !client.is_refresh {
        let id = named.parse_id()?.to_string();
        record_operator_read(&state, &within, "file.read", id).await?;
    }
    Ok(page)
}

/// Redirects to a download link of the object store that is valid for five minutes.
pub(crate) async fn content(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    client: ClientInfo,
    Path(named): Path<FilePathParams>,
) -> Result<Response, PageError> {
    let id = named.parse_id()?;
    let path = format!("/files/{id}/content");
    match call_api(&state, &within, Method::GET, &path, &Value::Null).await {
        Ok(body) => {
            let link = body.get("download_url").and_then(Value::as_str);
            let link = link.ok_or(PageError::NotFound)?;
            record_export(&state, &within, "file.exported", id.to_string()).await?;
            Ok(Redirect::to(link).into_response())
        }
        Err(refused) => render_file(&within, &client, &named, Some(refused)).await,
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct FileChangeForm {
    ttl_seconds: Option<u32>,
    pinned: Option<bool>,
}

pub(crate) async fn change(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    client: ClientInfo,
    Path(named): Path<FilePathParams>,
    Form(change): Form<FileChangeForm>,
) -> Result<Response, PageError> {
    let mut body = serde_json::Map::new();
    if let Some(seconds) = change.ttl_seconds {
        body.insert("ttl_seconds".to_owned(), json!(seconds));
    }
    if let Some(pinned) = change.pinned {
        body.insert("pinned".to_owned(), json!(pinned));
    }
    let body = Value::Object(body);
    let id = named.parse_id()?.to_string();
    record_audit(
        &state,
        &within,
        "file.changed",
        id.clone(),
        body.to_string(),
    )
    .await?;
    let path = format!("/files/{id}");
    match call_api(&state, &within, Method::PATCH, &path, &body).await {
        Ok(_) => Ok(redirect_to_file(&within, &id)),
        Err(refused) => render_file(&within, &client, &named, Some(refused)).await,
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct FileDeleteForm {
    /// Delete although open cargo references the file.
    #[serde(default)]
    force: bool,
}

pub(crate) async fn delete(
    State(state): State<DashboardState>,
    within: ProjectAccess,
    client: ClientInfo,
    Path(named): Path<FilePathParams>,
    Form(FileDeleteForm { force }): Form<FileDeleteForm>,
) -> Result<Response, PageError> {
    let id = named.parse_id()?.to_string();
    let detail = if force { "forced, file in use" } else { "" };
    record_audit(
        &state,
        &within,
        "file.deleted",
        id.clone(),
        detail.to_owned(),
    )
    .await?;
    let path = format!("/files/{id}?force={force}");
    match call_api(&state, &within, Method::DELETE, &path, &Value::Null).await {
        Ok(_) => Ok(redirect_to_file(&within, &id)),
        Err(refused) => render_file(&within, &client, &named, Some(refused)).await,
    }
}

fn redirect_to_file(within: &ProjectAccess, file: &str) -> Response {
    let slug = &within.project.slug;
    Redirect::to(&format!("/dashboard/project/{slug}/files/{file}")).into_response()
}
