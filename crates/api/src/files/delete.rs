//! `DELETE /files/{file_id}`: the row first, then the bytes. What the store does not take back
//! now, sweep removes later.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use domain::id::FileId;
use http::Uri;
use outbound::objects::{Failure, Objects};
use store::Shard;
use store::shard::file::{self, Deleted, File};
use store::shard::object;
use tokio::time::timeout;
use wire::file::FileRecord;

use crate::files::check;
use crate::files::record::record;
use crate::files::sought::Sought;
use crate::harbour::refuse;
use crate::problem::FileProblem;
use crate::state::App;

/// How long a caller waits for the store; the work goes on without them.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) async fn delete(
    sought: Sought,
    State(app): State<App>,
    uri: Uri,
) -> Result<Json<FileRecord>, FileProblem> {
    let force = check::force(&uri)?;
    let quay = sought.quay(&app)?;
    let (project, now) = (sought.caller.project, quay.shard.clock.now());
    match file::delete(&quay.shard, project, sought.id, force, now).await? {
        Deleted::Done { file, gone } => {
            if let Ok(objects) = app.files.store() {
                remove(objects.clone(), Arc::clone(&quay.shard), file.clone(), gone).await;
            }
            Ok(Json(record(file)))
        }
        Deleted::InUse => Err(refuse::in_use()),
        Deleted::NotFound => Err(refuse::not_found()),
    }
}

/// A task of its own: a caller that hangs up cancels nothing.
async fn remove(objects: Objects, shard: Arc<Shard>, file: File, gone: Option<FileId>) {
    let removed = tokio::spawn(removal(objects, shard, file, gone));
    let _goes_on = timeout(PATIENCE, removed).await;
}

/// Sweep finds what stays.
async fn removal(objects: Objects, shard: Arc<Shard>, file: File, gone: Option<FileId>) {
    if let Some(object) = gone {
        let bytes = objects.published(object);
        if objects.delete(&bytes).await.is_ok() {
            let _swept = object::forget(&shard, object).await;
        }
    }
    if file.staged && clean(&objects, &file).await.is_ok() {
        let _swept = file::cleaned(&shard, file.id).await;
    }
}

async fn clean(objects: &Objects, file: &File) -> Result<(), Failure> {
    if let Some(upload) = &file.upload {
        objects.abort_multipart(file.id, upload).await?;
    }
    objects.delete(&objects.staging(file.id)).await
}
