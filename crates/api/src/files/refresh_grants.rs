//! `POST /files/{file_id}/parts`: refreshes the presigned grants of an open session.

use axum::Json;
use axum::extract::State;
use domain::file::FileStatus;
use domain::upload::UploadMethod;
use wire::file::RefreshedUploadResponse;

use crate::api_error::{ApiError, FileApiError};
use crate::file_access::errors;
use crate::files::requested_file::RequestedFile;
use crate::files::{presigned_grant, validation};
use crate::request_body::BufferedBody;
use crate::state::App;

pub(crate) async fn refresh_grants(
    requested: RequestedFile,
    State(app): State<App>,
    body: Result<BufferedBody, ApiError>,
) -> Result<Json<RefreshedUploadResponse>, FileApiError> {
    let handle = requested.shard_handle(&app)?;
    let file = requested.find_row(handle).await?;
    if file.status != FileStatus::Uploading {
        let next = "Grants can be refreshed only while the status is uploading.";
        return Err(errors::invalid_state(file.status, next));
    }
    let numbers = validation::parse_refresh(&body?.0, UploadMethod::of(file.size_bytes))?;
    let objects = app.files.object_store()?;
    let begun = presigned_grant::ensure_multipart_upload(objects, handle, &file).await?;
    Ok(Json(RefreshedUploadResponse {
        id: file.id.to_string(),
        status: file.status.as_str(),
        upload: presigned_grant::sign_upload(objects, &file, &begun, &numbers),
    }))
}
