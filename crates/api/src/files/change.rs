//! `PATCH /files/{file_id}`: changes the time to live, the metadata, or the pin.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use store::shard::file::{self, FileChangeResult};
use wire::file::FileRecord;

use crate::api_error::{ApiError, FileApiError};
use crate::files::errors;
use crate::files::requested_file::RequestedFile;
use crate::files::state::FilesState;
use crate::files::validation;
use crate::request_body::BufferedBody;

pub(crate) async fn change(
    requested: RequestedFile,
    State(files): State<Arc<FilesState>>,
    body: Result<BufferedBody, ApiError>,
) -> Result<Json<FileRecord>, FileApiError> {
    let change = validation::parse_change(&body?.0)?;
    let shard = requested.shard(&files)?;
    let (project, now) = (requested.caller.project, shard.clock.now());
    match file::update(shard, project, requested.id, &change, now).await? {
        FileChangeResult::Done(file) => Ok(Json(files.record(file))),
        FileChangeResult::WrongState => {
            let status = requested.find_row(shard).await?.status;
            Err(errors::invalid_state(
                status,
                "A failed or expired file cannot be changed.",
            ))
        }
        FileChangeResult::NotFound => Err(errors::not_found()),
    }
}
