//! One file: what it is, how far it is, and what can be done with it.

use std::fmt::Write as _;

use askama::Template;
use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use chrono::TimeDelta;
use domain::file::{LONGEST_TTL, SHORTEST_TTL, Status};
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use store::shard::file::{self, File};
use store::view::files::{Progress, progress};

use super::proxy::{Named, announce, ask};
use super::steps::{self, Step};
use super::words;
use crate::no::No;
use crate::page::{Here, Page, show_with};
use crate::seat::{InProject, Visitor};
use crate::state::Desk;
use crate::text;

/// Choices of a time to live, in seconds.
const TIMES: [(u32, &str); 6] = [
    (SHORTEST_TTL, "an hour from now"),
    (86_400, "a day from now"),
    (604_800, "a week from now"),
    (2_592_000, "30 days from now"),
    (7_776_000, "90 days from now"),
    (LONGEST_TTL, "a year from now"),
];

#[derive(Debug, Template)]
#[template(path = "file.html")]
struct One {
    page: Page,
    file: File,
    progress: Progress,
    steps: Vec<Step>,
    sha256: String,
    metadata: Option<String>,
    /// What was refused just now.
    refused: Option<String>,
}

impl One {
    fn is_open(&self) -> bool {
        matches!(self.file.status, Status::Uploading | Status::Validating)
    }

    fn is_ready(&self) -> bool {
        self.file.status == Status::Ready
    }

    fn can_be_deleted(&self) -> bool {
        self.file.status != Status::Expired
    }

    fn lives(&self) -> String {
        text::duration(TimeDelta::seconds(self.file.ttl_seconds.into()))
    }

    fn is_copy(&self) -> bool {
        self.file
            .object
            .is_some_and(|object| object != self.file.id)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

async fn one(
    within: &InProject,
    visitor: &Visitor,
    named: &Named,
    refused: Option<(StatusCode, String)>,
) -> Result<Response, No> {
    let (shard, id) = (within.shard(), named.id()?);
    let found = file::find(shard, within.id(), id).await?;
    let file = found.ok_or(No::NotFound)?;
    let progress = progress(shard, within.id(), id).await?;
    let progress = progress.ok_or(No::NotFound)?;
    let metadata = file.metadata.as_deref().map(|json| {
        let tidy = serde_json::from_slice::<Value>(json);
        let tidy = tidy.and_then(|value| serde_json::to_string_pretty(&value));
        tidy.unwrap_or_else(|_| String::from_utf8_lossy(json).into_owned())
    });
    let (status, refused) = match refused {
        Some((status, message)) => (status, Some(message)),
        None => (StatusCode::OK, None),
    };
    let page = Page::of_project(file.filename.clone(), Here::Files, within, visitor);
    let page = One {
        // What answers a form has an address that cannot be asked again.
        page: if refused.is_none() { page.live() } else { page },
        steps: steps::of(&file, &progress),
        sha256: hex(&file.sha256.0),
        metadata: metadata.filter(|tags| tags != "{}"),
        file,
        progress,
        refused,
    };
    Ok(show_with(status, &page))
}

pub(crate) async fn page(
    within: InProject,
    visitor: Visitor,
    Path(named): Path<Named>,
) -> Result<Response, No> {
    one(&within, &visitor, &named, None).await
}

/// Off to the store, by a link that is good for five minutes.
pub(crate) async fn content(
    State(desk): State<Desk>,
    within: InProject,
    visitor: Visitor,
    Path(named): Path<Named>,
) -> Result<Response, No> {
    let path = format!("/files/{}/content", named.id()?);
    match ask(&desk, &within, Method::GET, &path, &Value::Null).await {
        Ok(said) => {
            let link = said.get("download_url").and_then(Value::as_str);
            Ok(Redirect::to(link.ok_or(No::NotFound)?).into_response())
        }
        Err(refused) => one(&within, &visitor, &named, Some(refused)).await,
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Change {
    ttl_seconds: Option<u32>,
    pinned: Option<bool>,
}

pub(crate) async fn change(
    State(desk): State<Desk>,
    within: InProject,
    visitor: Visitor,
    Path(named): Path<Named>,
    Form(change): Form<Change>,
) -> Result<Response, No> {
    let mut body = serde_json::Map::new();
    if let Some(seconds) = change.ttl_seconds {
        body.insert("ttl_seconds".to_owned(), json!(seconds));
    }
    if let Some(pinned) = change.pinned {
        body.insert("pinned".to_owned(), json!(pinned));
    }
    let body = Value::Object(body);
    let id = named.id()?.to_string();
    announce(&desk, &within, "file.changed", id.clone(), body.to_string()).await?;
    let path = format!("/files/{id}");
    match ask(&desk, &within, Method::PATCH, &path, &body).await {
        Ok(_) => Ok(back(&within, &id)),
        Err(refused) => one(&within, &visitor, &named, Some(refused)).await,
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Delete {
    /// Although cargo in flight name it.
    #[serde(default)]
    force: bool,
}

pub(crate) async fn delete(
    State(desk): State<Desk>,
    within: InProject,
    visitor: Visitor,
    Path(named): Path<Named>,
    Form(Delete { force }): Form<Delete>,
) -> Result<Response, No> {
    let id = named.id()?.to_string();
    let detail = if force { "although in use" } else { "" };
    announce(
        &desk,
        &within,
        "file.deleted",
        id.clone(),
        detail.to_owned(),
    )
    .await?;
    let path = format!("/files/{id}?force={force}");
    match ask(&desk, &within, Method::DELETE, &path, &Value::Null).await {
        Ok(_) => Ok(back(&within, &id)),
        Err(refused) => one(&within, &visitor, &named, Some(refused)).await,
    }
}

fn back(within: &InProject, file: &str) -> Response {
    let slug = &within.project.slug;
    Redirect::to(&format!("/dashboard/project/{slug}/files/{file}")).into_response()
}
