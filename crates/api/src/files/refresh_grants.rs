//! `POST /files/{file_id}/parts`: refreshes the presigned grants of an open session.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use domain::file::FileStatus;
use domain::upload::UploadMethod;
use wire::file::RefreshedUploadResponse;

use crate::api_error::{ApiError, FileApiError};
use crate::files::errors;
use crate::files::requested_file::RequestedFile;
use crate::files::state::FilesState;
use crate::files::{presigned_grant, validation};
use crate::request_body::BufferedBody;

pub(crate) async fn refresh_grants(
    requested: RequestedFile,
    State(files): State<Arc<FilesState>>,
    body: Result<BufferedBody, ApiError>,
) -> Result<Json<RefreshedUploadResponse>, FileApiError> {
    let shard = requested.shard(&files)?;
    let file = requested.find_row(shard).await?;
    if file.status != FileStatus::Uploading {
        let next = "Grants can be refreshed only while the status is uploading.";
        return Err(errors::invalid_state(file.status, next));
    }
    let numbers = validation::parse_refresh(&body?.0, UploadMethod::of(file.size_bytes))?;
    let objects = files.service.object_store()?;
    let begun = presigned_grant::ensure_multipart_upload(objects, shard, &file).await?;
    Ok(Json(RefreshedUploadResponse {
        id: file.id.to_string(),
        status: file.status.as_str(),
        upload: presigned_grant::sign_upload(objects, &file, &begun, &numbers)?,
    }))
}
