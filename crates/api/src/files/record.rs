//! `GET /files/{file_id}`, and the file record that several routes return.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use store::shard::file::FileRow;
use wire::file::FileRecord;
use wire::file::record::metadata_or_empty;
use wire::timestamp::WireTimestamp;

use crate::api_error::FileApiError;
use crate::files::requested_file::RequestedFile;
use crate::files::state::FilesState;

pub(crate) async fn get(
    requested: RequestedFile,
    State(files): State<Arc<FilesState>>,
) -> Result<Json<FileRecord>, FileApiError> {
    let file = requested.find_row(requested.shard(&files)?).await?;
    Ok(Json(file_record(file)))
}

pub(crate) fn file_record(file: FileRow) -> FileRecord {
    FileRecord {
        id: file.id.to_string(),
        status: file.status.as_str(),
        kind: file.kind.as_str(),
        filename: file.filename,
        media_type: file.media_type.as_str(),
        size_bytes: file.size_bytes,
        sha256: hex::encode(file.sha256.0),
        scan_status: file.scan_status.as_str(),
        failure_reason: file
            .failure_reason
            .map(domain::file::FileFailureReason::as_str),
        ttl_seconds: file.ttl_seconds,
        expires_at: file.expires_at.map(WireTimestamp),
        pinned: file.pinned,
        active_ref_count: file.refs,
        metadata: metadata_or_empty(file.metadata),
        created_at: WireTimestamp(file.created_at),
    }
}
