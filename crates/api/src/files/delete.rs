//! `DELETE /files/{file_id}`: ends the row first, then deletes the objects. Sweep deletes later
//! what the store does not delete now.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use domain::id::FileId;
use http::Uri;
use outbound::object_store::{ObjectStore, ObjectStoreFailure};
use store::Shard;
use store::shard::file::{self, FileDeletion, FileRow};
use store::shard::object;
use tokio::time::timeout;
use wire::file::FileRecord;

use crate::api_error::FileApiError;
use crate::files::errors;
use crate::files::requested_file::RequestedFile;
use crate::files::state::FilesState;
use crate::files::validation;

/// How long a caller waits for the store. The removal continues after that.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) async fn delete(
    requested: RequestedFile,
    State(files): State<Arc<FilesState>>,
    uri: Uri,
) -> Result<Json<FileRecord>, FileApiError> {
    let force = validation::parse_force(&uri)?;
    let shard = requested.shard(&files)?;
    let (project, now) = (requested.caller.project, shard.clock.now());
    match file::delete(shard, project, requested.id, force, now).await? {
        FileDeletion::Done {
            file,
            gone_object: gone,
        } => {
            if let Ok(objects) = files.service.object_store() {
                spawn_removal(objects.clone(), Arc::clone(shard), file.clone(), gone).await;
            }
            Ok(Json(files.record(file)))
        }
        FileDeletion::InUse => Err(errors::file_in_use()),
        FileDeletion::NotFound => Err(errors::not_found()),
    }
}

/// In a separate task, so that a caller that disconnects does not cancel it.
async fn spawn_removal(
    objects: ObjectStore,
    shard: Arc<Shard>,
    file: FileRow,
    gone: Option<FileId>,
) {
    let removed = tokio::spawn(remove_objects(objects, shard, file, gone));
    let _continues = timeout(REMOVAL_TIMEOUT, removed).await;
}

/// Sweep deletes the objects that remain after an error.
async fn remove_objects(
    objects: ObjectStore,
    shard: Arc<Shard>,
    file: FileRow,
    gone: Option<FileId>,
) {
    if let Some(object) = gone {
        let bytes = objects.published_key(object);
        if objects.delete(&bytes).await.is_ok() {
            let _swept = object::delete(&shard, object).await;
        }
    }
    if file.staged && remove_staged_upload(&objects, &file).await.is_ok() {
        let _swept = file::mark_cleaned(&shard, file.id).await;
    }
}

async fn remove_staged_upload(
    objects: &ObjectStore,
    file: &FileRow,
) -> Result<(), ObjectStoreFailure> {
    if let Some(upload) = &file.upload {
        objects.abort_multipart(file.id, upload).await?;
    }
    objects.delete(&objects.staging_key(file.id)).await
}
