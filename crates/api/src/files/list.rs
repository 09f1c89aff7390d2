//! `GET /files`: a project's files, newest first, in pages.

use axum::Json;
use axum::extract::State;
use http::Uri;
use store::shard::file::{self, FileFilter};
use wire::file::FileListResponse;

use crate::api_error::FileApiError;
use crate::caller::Caller;
use crate::files::record::file_record;
use crate::files::{cursor, validation};
use crate::state::App;

pub(crate) async fn list(
    caller: Caller,
    State(app): State<App>,
    uri: Uri,
) -> Result<Json<FileListResponse>, FileApiError> {
    let query = validation::parse_list_query(&uri)?;
    let filter = FileFilter {
        status: query.status,
        kind: query.kind,
    };
    let handle = app.shard_handle(caller.berth)?;
    // One file more than the page shows whether there is another page.
    let (project, limit) = (caller.project, query.limit.saturating_add(1));
    let mut files = file::list(&handle.shard, project, filter, query.before, limit).await?;
    let page_size = usize::try_from(query.limit).unwrap_or(usize::MAX);
    let has_more = files.len() > page_size;
    files.truncate(page_size);
    let last = files.last().filter(|_| has_more);
    Ok(Json(FileListResponse {
        next_cursor: last.map(|last| cursor::encode_cursor(last.id)),
        files: files.into_iter().map(file_record).collect(),
    }))
}
