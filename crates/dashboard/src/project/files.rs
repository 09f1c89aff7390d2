//! A project's files, newest first; and where browsers upload more.

pub(crate) mod one;

pub(crate) mod proxy;

mod steps;

mod words;

use std::borrow::Borrow;

use askama::Template;
use axum::extract::Query;
use axum::response::Response;
use domain::file::{Kind, MediaType, Status};
use domain::id::FileId;
use domain::storage::Stored;
use serde::Deserialize;
use store::shard::file::{self, File, Filter};
use store::shard::storage;

use crate::no::No;
use crate::page::{Here, Page, show};
use crate::seat::{InProject, Visitor};
use crate::text;

const PAGE: usize = 50;

#[derive(Debug, Template)]
#[template(path = "files.html")]
struct Files {
    page: Page,
    shown: Vec<File>,
    stored: Stored,
    filter: Filter,
    is_later: bool,
    older: Option<FileId>,
}

impl Files {
    fn is_filtered(&self) -> bool {
        self.filter != Filter::default()
    }

    fn is_status(&self, status: impl Borrow<Status>) -> bool {
        self.filter.status == Some(*status.borrow())
    }

    fn is_kind(&self, kind: impl Borrow<Kind>) -> bool {
        self.filter.kind == Some(*kind.borrow())
    }

    /// The filters, as the address says them.
    fn query(&self) -> String {
        let mut query = String::new();
        if let Some(status) = self.filter.status {
            query.push_str("&status=");
            query.push_str(status.as_str());
        }
        if let Some(kind) = self.filter.kind {
            query.push_str("&kind=");
            query.push_str(kind.as_str());
        }
        query
    }

    /// What a browser may choose: the endings that people know, and the types.
    fn accept() -> String {
        let types = MediaType::ALL.iter().map(|one| one.as_str());
        types
            .chain([".md", ".csv", ".mkv", ".mov"])
            .collect::<Vec<_>>()
            .join(",")
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Asked {
    #[serde(default)]
    status: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    before: String,
}

pub(crate) async fn page(
    within: InProject,
    visitor: Visitor,
    Query(asked): Query<Asked>,
) -> Result<Response, No> {
    let filter = Filter {
        status: Status::parse(&asked.status),
        kind: Kind::parse(&asked.kind),
    };
    let before: Option<FileId> = asked.before.parse().ok();
    let shard = within.shard();
    let limit = u32::try_from(PAGE + 1).unwrap_or(u32::MAX);
    let (files, stored) = tokio::join!(
        file::list(shard, within.id(), filter, before, limit),
        storage::find(shard, within.place.organization),
    );
    let mut files = files?;
    let more = files.len() > PAGE;
    files.truncate(PAGE);
    Ok(show(&Files {
        page: Page::of_project("Files", Here::Files, &within, &visitor).live(),
        older: files.last().map(|file| file.id).filter(|_| more),
        shown: files,
        stored: stored?,
        filter,
        is_later: before.is_some(),
    }))
}
