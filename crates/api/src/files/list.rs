//! `GET /files`: a project's files, newest first, in pages.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::Uri;
use store::shard::file::{self, FileFilter};
use wire::file::FileListResponse;

use crate::api_error::FileApiError;
use crate::cursor;
use crate::files::file_caller::FileCaller;
use crate::files::state::FilesState;
use crate::files::validation;

pub(crate) async fn list(
    FileCaller(caller): FileCaller,
    State(files): State<Arc<FilesState>>,
    uri: Uri,
) -> Result<Json<FileListResponse>, FileApiError> {
    let query = validation::parse_list_query(&uri)?;
    let filter = FileFilter {
        status: query.status,
        kind: query.kind,
    };
    let shard = files.shard(caller.berth)?;
    // One file more than the page shows whether there is another page.
    let (project, limit) = (caller.project, query.limit.saturating_add(1));
    let mut page = file::list(shard, project, filter, query.before, limit).await?;
    let page_size = usize::try_from(query.limit).unwrap_or(usize::MAX);
    let has_more = page.len() > page_size;
    page.truncate(page_size);
    let last = page.last().filter(|_| has_more);
    Ok(Json(FileListResponse {
        next_cursor: last.map(|last| cursor::encode_cursor(last.id)),
        files: page.into_iter().map(|file| files.record(file)).collect(),
    }))
}
