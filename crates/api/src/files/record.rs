//! `GET /files/{file_id}`, and the record that every route answers with.

use axum::Json;
use axum::extract::State;
use store::shard::file::File;
use wire::file::FileRecord;
use wire::file::record::tags;
use wire::moment::Moment;

use crate::files::sought::Sought;
use crate::problem::FileProblem;
use crate::state::App;

pub(crate) async fn get(
    sought: Sought,
    State(app): State<App>,
) -> Result<Json<FileRecord>, FileProblem> {
    let file = sought.find(sought.quay(&app)?).await?;
    Ok(Json(record(file)))
}

pub(crate) fn record(file: File) -> FileRecord {
    FileRecord {
        id: file.id.to_string(),
        status: file.status.as_str(),
        kind: file.kind.as_str(),
        filename: file.filename,
        media_type: file.media_type.as_str(),
        size_bytes: file.size_bytes,
        sha256: hex::encode(file.sha256.0),
        scan_status: file.scan_status.as_str(),
        failure_reason: file.failure_reason.map(domain::file::Flaw::as_str),
        ttl_seconds: file.ttl_seconds,
        expires_at: file.expires_at.map(Moment),
        pinned: file.pinned,
        active_ref_count: file.refs,
        metadata: tags(file.metadata),
        created_at: Moment(file.created_at),
    }
}
