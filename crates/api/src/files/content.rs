//! `GET /files/{file_id}/content`: a presigned download link, valid for five minutes.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use wire::file::FileContentResponse;
use wire::timestamp::WireTimestamp;

use crate::api_error::FileApiError;
use crate::files::errors;
use crate::files::requested_file::RequestedFile;
use crate::files::state::FilesState;

pub(crate) async fn content(
    requested: RequestedFile,
    State(files): State<Arc<FilesState>>,
) -> Result<Json<FileContentResponse>, FileApiError> {
    let file = requested.find_row(requested.shard(&files)?).await?;
    let Some(object) = file.object else {
        let next = "Only a file with status ready can be downloaded.";
        return Err(errors::invalid_state(file.status, next));
    };
    let objects = files.service.object_store()?;
    let link = objects.presign_download(object, &file.filename, file.media_type);
    let (download_url, expires_at) = link.map_err(errors::store_call_failed)?;
    Ok(Json(FileContentResponse {
        id: file.id.to_string(),
        download_url,
        expires_at: WireTimestamp(expires_at),
        filename: file.filename,
        media_type: file.media_type.as_str(),
        size_bytes: file.size_bytes,
    }))
}
