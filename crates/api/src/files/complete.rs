//! `POST /files/{file_id}/complete`: starts the validation and waits a few seconds for the verdict.
//!
//! The workers validate the file. A repeated request during the validation waits again.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use domain::file::FileStatus;
use domain::upload::UploadMethod;
use http::StatusCode;
use store::Shard;
use store::shard::file::{self, FileRow, UploadCompletion};

use crate::api_error::{ApiError, FileApiError};
use crate::files::errors;
use crate::files::requested_file::RequestedFile;
use crate::files::state::FilesState;
use crate::files::validation;
use crate::request_body::BufferedBody;

pub(crate) async fn complete(
    requested: RequestedFile,
    State(files): State<Arc<FilesState>>,
    body: Result<BufferedBody, ApiError>,
) -> Result<Response, FileApiError> {
    let shard = requested.shard(&files)?;
    let found = requested.find_row(shard).await?;
    let validating = match found.status {
        FileStatus::Uploading => {
            begin_validation(&requested, shard, &files, &found, &body?.0).await?
        }
        FileStatus::Validating => {
            files.service.object_store()?;
            found
        }
        FileStatus::Ready | FileStatus::Failed | FileStatus::Expired => {
            return Err(not_uploading(found.status));
        }
    };
    let project = requested.caller.project;
    match files.wait_for_verdict(project, requested.id).await {
        Some(file) => verdict_response(file, &files),
        None => Ok((StatusCode::ACCEPTED, Json(files.record(validating))).into_response()),
    }
}

async fn begin_validation(
    requested: &RequestedFile,
    shard: &Shard,
    files: &FilesState,
    session: &FileRow,
    body: &[u8],
) -> Result<FileRow, FileApiError> {
    let parts = validation::parse_complete(body, UploadMethod::of(session.size_bytes))?;
    files.service.object_store()?;
    let (project, now) = (requested.caller.project, shard.clock.now());
    let completed = file::complete(shard, project, requested.id, parts.as_deref(), now);
    match completed.await? {
        UploadCompletion::ValidationStarted(file) => Ok(file),
        // Another complete request was faster.
        UploadCompletion::NotUploading(file) if file.status == FileStatus::Validating => Ok(file),
        UploadCompletion::NotUploading(file) => Err(not_uploading(file.status)),
        UploadCompletion::NotFound => Err(errors::not_found()),
    }
}

fn verdict_response(file: FileRow, files: &FilesState) -> Result<Response, FileApiError> {
    match (file.status, file.failure_reason) {
        (FileStatus::Ready, _) => Ok(Json(files.record(file)).into_response()),
        (FileStatus::Failed, Some(flaw)) => Err(errors::validation_failed(flaw)),
        (status, _) => Err(not_uploading(status)),
    }
}

fn not_uploading(status: FileStatus) -> FileApiError {
    errors::invalid_state(
        status,
        "Only a file with status uploading can be completed.",
    )
}
