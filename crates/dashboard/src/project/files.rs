//! A project's files: list and upload.

pub(crate) mod detail;

pub(crate) mod api_proxy;

mod steps;

mod explanations;

use std::borrow::Borrow;

use askama::Template;
use axum::extract::Query;
use axum::response::Response;
use domain::file::{FileKind, FileStatus, MediaType};
use domain::id::FileId;
use domain::storage_quota::StorageUsage;
use serde::Deserialize;
use store::shard::file::{self, FileFilter, FileRow};
use store::shard::storage;

use crate::access::{ClientInfo, ProjectAccess};
use crate::page::{NavItem, PageLayout, render_page};
use crate::page_error::PageError;
use crate::text;

const PAGE_SIZE: usize = 50;

#[derive(Debug, Template)]
#[template(path = "files.html")]
struct FilesPage {
    page: PageLayout,
    files: Vec<FileRow>,
    stored: StorageUsage,
    filter: FileFilter,
    is_older_page: bool,
    older: Option<FileId>,
}

impl FilesPage {
    fn is_filtered(&self) -> bool {
        self.filter != FileFilter::default()
    }

    fn is_status(&self, status: impl Borrow<FileStatus>) -> bool {
        self.filter.status == Some(*status.borrow())
    }

    fn is_kind(&self, kind: impl Borrow<FileKind>) -> bool {
        self.filter.kind == Some(*kind.borrow())
    }

    /// The filters as query parameters.
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

    /// The `accept` attribute of the file input: media types and common file extensions.
    fn accept() -> String {
        let types = MediaType::ALL.iter().map(|one| one.as_str());
        types
            .chain([".md", ".csv", ".mkv", ".mov"])
            .collect::<Vec<_>>()
            .join(",")
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct FileQuery {
    #[serde(default)]
    status: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    before: String,
}

pub(crate) async fn page(
    within: ProjectAccess,
    client: ClientInfo,
    Query(params): Query<FileQuery>,
) -> Result<Response, PageError> {
    let filter = FileFilter {
        status: FileStatus::parse(&params.status),
        kind: FileKind::parse(&params.kind),
    };
    let before: Option<FileId> = params.before.parse().ok();
    let shard = within.shard();
    let limit = u32::try_from(PAGE_SIZE + 1).unwrap_or(u32::MAX);
    let (files, stored) = tokio::join!(
        file::list(shard, within.id(), filter, before, limit),
        storage::find(shard, within.scope.organization),
    );
    let mut files = files?;
    let more = files.len() > PAGE_SIZE;
    files.truncate(PAGE_SIZE);
    Ok(render_page(&FilesPage {
        page: PageLayout::for_project("Files", NavItem::Files, &within, &client).live(),
        older: files.last().map(|file| file.id).filter(|_| more),
        files,
        stored: stored?,
        filter,
        is_older_page: before.is_some(),
    }))
}
