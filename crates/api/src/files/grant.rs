//! Grants to upload, as the routes answer them.

use domain::upload::{Form, PART_BYTES};
use outbound::objects::Objects;
use store::shard::file::{self, File};
use wire::file::{Part, Upload};
use wire::moment::Moment;

use crate::harbour::refuse;
use crate::problem::FileProblem;
use crate::state::Quay;

/// One POST, or these parts of a multipart upload that is there already.
pub(crate) fn upload(objects: &Objects, file: &File, upload: &str, numbers: &[u32]) -> Upload {
    match Form::of(file.size_bytes) {
        Form::SingleShot => {
            let grant = objects.post_grant(file.id, &file.declared());
            Upload::Post {
                url: grant.url,
                fields: grant.fields,
                expires_at: Moment(grant.expires_at),
            }
        }
        Form::Multipart { .. } => {
            let checksums = file.part_checksums.as_deref();
            let size = file.size_bytes;
            let grants = objects.part_grants(file.id, upload, size, numbers, checksums);
            let part = |(part_number, url)| Part { part_number, url };
            Upload::Multipart {
                part_size_bytes: PART_BYTES,
                parts: grants.parts.into_iter().map(part).collect(),
                checksum_header: grants.checksum_header,
                expires_at: Moment(grants.expires_at),
            }
        }
    }
}

/// The store's name for the session's upload, made now if there is none. A POST needs none.
pub(crate) async fn begin(
    objects: &Objects,
    quay: &Quay,
    session: &File,
) -> Result<String, FileProblem> {
    if Form::of(session.size_bytes) == Form::SingleShot {
        return Ok(String::new());
    }
    if let Some(upload) = &session.upload {
        return Ok(upload.clone());
    }
    let checksummed = session.part_checksums.is_some();
    let begun = objects.begin_multipart(session.id, session.media_type, checksummed);
    let upload = begun.await.map_err(refuse::failed_call)?;
    if file::keep_upload(&quay.shard, session.id, &upload).await? {
        return Ok(upload);
    }
    // Another has begun one, or the session is over: ours is in nobody's way, and soon gone.
    let _patrol_finds_it = objects.abort_multipart(session.id, &upload).await;
    let now = file::find(&quay.shard, session.project, session.id).await?;
    let now = now.ok_or_else(refuse::not_found)?;
    now.upload
        .ok_or_else(|| refuse::state(now.status, "Create a new file."))
}
