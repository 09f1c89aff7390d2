//! `GET /files`: a project's files, newest first, page by page.

use axum::Json;
use axum::extract::State;
use http::Uri;
use store::shard::file::{self, Filter};
use wire::file::FileList;

use crate::caller::Caller;
use crate::files::record::record;
use crate::files::{check, cursor};
use crate::problem::FileProblem;
use crate::state::App;

pub(crate) async fn list(
    caller: Caller,
    State(app): State<App>,
    uri: Uri,
) -> Result<Json<FileList>, FileProblem> {
    let asked = check::listing(&uri)?;
    let filter = Filter {
        status: asked.status,
        kind: asked.kind,
    };
    let quay = app.quay(caller.berth)?;
    // One more than the page shows whether there is another page.
    let (project, more) = (caller.project, asked.limit.saturating_add(1));
    let mut files = file::list(&quay.shard, project, filter, asked.before, more).await?;
    let most = usize::try_from(asked.limit).unwrap_or(usize::MAX);
    let has_more = files.len() > most;
    files.truncate(most);
    let last = files.last().filter(|_| has_more);
    Ok(Json(FileList {
        next_cursor: last.map(|last| cursor::write(last.id)),
        files: files.into_iter().map(record).collect(),
    }))
}
