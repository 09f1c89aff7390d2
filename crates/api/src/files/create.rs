//! `POST /files`: creates an upload session, or a ready file if the project has the bytes already.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use domain::file::FileStatus;
use domain::id::FileId;
use domain::time::Timestamp;
use domain::upload::UploadMethod;
use http::StatusCode;
use outbound::object_store::ObjectStore;
use rand::RngExt as _;
use store::Shard;
use store::shard::file::{self, FileCreation, FileRow, NewFile};
use wire::file::{UploadGrantBody, UploadSessionResponse};

use crate::api_error::{ApiError, FileApiError};
use crate::caller::Caller;
use crate::files::errors;
use crate::files::file_caller::FileCaller;
use crate::files::presigned_grant;
use crate::files::state::FilesState;
use crate::files::validation::{self, UploadSessionRequest};
use crate::request_body::BufferedBody;

/// Checks the plan, the fields, the media type, the size and the store's health. Then, under
/// the lock of the organization's storage row, the open sessions and the quota.
pub(crate) async fn create(
    FileCaller(caller): FileCaller,
    State(files): State<Arc<FilesState>>,
    body: Result<BufferedBody, ApiError>,
) -> Result<Response, FileApiError> {
    files.service.check_plan(caller.plan)?;
    let session = validation::parse_create(&body?.0)?;
    let objects = files.service.object_store()?;
    files.service.check_scanner()?;
    let shard = files.shard(caller.berth)?;
    let now = shard.clock.now();
    let new = new_file(&caller, session, now);
    let quota = files.storage_quota(caller.plan);
    match file::create(shard, &new, quota, now).await? {
        FileCreation::Session(file) => {
            let upload = grant_upload(objects, shard, &file).await?;
            Ok(session_response(StatusCode::CREATED, &file, Some(upload)))
        }
        FileCreation::Duplicate(file) => Ok(session_response(StatusCode::OK, &file, None)),
        FileCreation::Refused(refusal) => Err(errors::storage_refused(refusal)),
    }
}

fn new_file(caller: &Caller, session: UploadSessionRequest, now: Timestamp) -> NewFile {
    NewFile {
        id: FileId::new(now, caller.berth, rand::rng().random()),
        organization: caller.organization,
        project: caller.project,
        filename: session.filename,
        declared: session.declared,
        ttl_seconds: session.ttl_seconds,
        metadata: session.metadata,
        part_checksums: session.part_checksums,
    }
}

/// Signs the upload grant. If that fails, the session is removed again.
async fn grant_upload(
    objects: &ObjectStore,
    shard: &Shard,
    session: &FileRow,
) -> Result<UploadGrantBody, FileApiError> {
    let granted = sign_new_upload(objects, shard, session).await;
    if granted.is_err() {
        // If this fails too, the session ends as abandoned after 24 hours.
        let _abandoned = file::retract(shard, session.id).await;
    }
    granted
}

async fn sign_new_upload(
    objects: &ObjectStore,
    shard: &Shard,
    session: &FileRow,
) -> Result<UploadGrantBody, FileApiError> {
    let begun = presigned_grant::ensure_multipart_upload(objects, shard, session).await?;
    let parts = match UploadMethod::of(session.size_bytes) {
        UploadMethod::SingleShot => 0,
        UploadMethod::Multipart { parts } => parts,
    };
    let numbers: Vec<u32> = (1..=parts).collect();
    presigned_grant::sign_upload(objects, session, &begun, &numbers)
}

fn session_response(
    status: StatusCode,
    file: &FileRow,
    upload: Option<UploadGrantBody>,
) -> Response {
    let session = UploadSessionResponse {
        id: file.id.to_string(),
        status: file.status.as_str(),
        deduplicated: file.status == FileStatus::Ready,
        upload,
    };
    (status, Json(session)).into_response()
}
