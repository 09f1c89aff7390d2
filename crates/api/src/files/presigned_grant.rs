//! Presigned grants for uploads.

use domain::upload::{PART_BYTES, UploadMethod};
use outbound::object_store::ObjectStore;
use store::Shard;
use store::shard::file::{self, FileRow};
use wire::file::{UploadGrantBody, UploadPartBody};
use wire::timestamp::WireTimestamp;

use crate::api_error::FileApiError;
use crate::files::errors;

/// A grant for one POST, or for these parts of an existing multipart upload.
pub(crate) fn sign_upload(
    objects: &ObjectStore,
    file: &FileRow,
    upload: &str,
    numbers: &[u32],
) -> Result<UploadGrantBody, FileApiError> {
    let body = match UploadMethod::of(file.size_bytes) {
        UploadMethod::SingleShot => {
            let grant = objects.post_grant(file.id, &file.declared());
            let grant = grant.map_err(errors::store_call_failed)?;
            UploadGrantBody::Post {
                url: grant.url,
                fields: grant.fields,
                expires_at: WireTimestamp(grant.expires_at),
            }
        }
        UploadMethod::Multipart { .. } => {
            let checksums = file.part_checksums.as_deref();
            let size = file.size_bytes;
            let grants = objects.part_grants(file.id, upload, size, numbers, checksums);
            let grants = grants.map_err(errors::store_call_failed)?;
            let part = |(part_number, url)| UploadPartBody { part_number, url };
            UploadGrantBody::Multipart {
                part_size_bytes: PART_BYTES,
                parts: grants.parts.into_iter().map(part).collect(),
                checksum_header: grants.checksum_header,
                expires_at: WireTimestamp(grants.expires_at),
            }
        }
    };
    Ok(body)
}

/// The store's id of the multipart upload, which is created if there is none. Empty for one POST.
pub(crate) async fn ensure_multipart_upload(
    objects: &ObjectStore,
    shard: &Shard,
    session: &FileRow,
) -> Result<String, FileApiError> {
    if UploadMethod::of(session.size_bytes) == UploadMethod::SingleShot {
        return Ok(String::new());
    }
    if let Some(upload) = &session.upload {
        return Ok(upload.clone());
    }
    let checksummed = session.part_checksums.is_some();
    let begun = objects.begin_multipart(session.id, session.media_type, checksummed);
    let upload = begun.await.map_err(errors::store_call_failed)?;
    if file::record_upload(shard, session.id, &upload).await? {
        return Ok(upload);
    }
    // Another request created one first, or the session is over. If the abort fails, patrol
    // removes this upload.
    let _removed_by_patrol = objects.abort_multipart(session.id, &upload).await;
    let now = file::find(shard, session.project, session.id).await?;
    let now = now.ok_or_else(errors::not_found)?;
    now.upload
        .ok_or_else(|| errors::invalid_state(now.status, "Create a new file."))
}
