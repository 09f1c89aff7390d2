//! `GET /files/{file_id}`, and the file record that several routes return.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use domain::file::{FileFailureReason, expires_at};
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
    Ok(Json(files.record(file)))
}

impl FilesState {
    /// The record that callers see of a file.
    pub(super) fn record(&self, file: FileRow) -> FileRecord {
        // Until the file is ready: as if it became ready when its first grant expires.
        let ready_at = file.created_at + self.service.grant_lifetime();
        let provisional = expires_at(ready_at, file.ttl_seconds);
        FileRecord {
            id: file.id.to_string(),
            status: file.status.as_str(),
            kind: file.kind.as_str(),
            filename: file.filename,
            media_type: file.media_type.as_str(),
            size_bytes: file.size_bytes,
            sha256: hex::encode(file.sha256.0),
            scan_status: file.scan_status.as_str(),
            failure_reason: file.failure_reason.map(FileFailureReason::as_str),
            ttl_seconds: file.ttl_seconds,
            expires_at: WireTimestamp(file.expires_at.unwrap_or(provisional)),
            pinned: file.pinned,
            active_ref_count: file.refs,
            metadata: metadata_or_empty(file.metadata),
            created_at: WireTimestamp(file.created_at),
        }
    }
}
