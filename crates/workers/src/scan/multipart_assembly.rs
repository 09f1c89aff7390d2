//! Assembles a multipart upload into one object in staging, and checks its size.

use domain::file::FileFailureReason;
use domain::file_validation;
use outbound::object_store::{MultipartCompletion, ObjectHead, ObjectStore, UploadedPart};
use store::shard::file::ClaimedFile;

use super::verification_failure::VerificationFailure;

/// The uploaded object's metadata, or why the file fails: missing or of the wrong size.
pub(super) async fn assemble(
    objects: &ObjectStore,
    claimed: &ClaimedFile,
) -> Result<Result<ObjectHead, FileFailureReason>, VerificationFailure> {
    if let Err(flaw) = complete_multipart(objects, claimed).await? {
        return Ok(Err(flaw));
    }
    let file = &claimed.file;
    Ok(match objects.head(&objects.staging_key(file.id)).await? {
        None => Err(FileFailureReason::UploadMissing),
        Some(head) if head.size != file.size_bytes => Err(FileFailureReason::SizeMismatch),
        Some(head) => Ok(head),
    })
}

/// Completes the multipart upload. After that its grants are void.
///
/// An upload that does not exist was completed before a crash, or never started: the object's
/// metadata shows which.
async fn complete_multipart(
    objects: &ObjectStore,
    claimed: &ClaimedFile,
) -> Result<Result<(), FileFailureReason>, VerificationFailure> {
    let file = &claimed.file;
    let Some(upload) = &file.upload else {
        return Ok(Ok(()));
    };
    let Some(stored) = objects.list_parts(file.id, upload).await? else {
        return Ok(Ok(()));
    };
    let stored: Vec<_> = stored.iter().map(|part| (part.number, part.size)).collect();
    if let Err(flaw) = file_validation::check_parts(file.size_bytes, &stored) {
        return Ok(Err(flaw));
    }
    let listed = list_parts(claimed);
    if listed.len() != stored.len() {
        return Ok(Err(FileFailureReason::UploadMissing));
    }
    Ok(
        match objects.complete_multipart(file.id, upload, &listed).await? {
            MultipartCompletion::Done | MultipartCompletion::NoSuchUpload => Ok(()),
            // The ETags belong to other bytes than those in the store.
            MultipartCompletion::Refused(_) => Err(FileFailureReason::ChecksumMismatch),
        },
    )
}

/// The parts as the caller listed them. A store that got checksums at creation needs them again.
fn list_parts(claimed: &ClaimedFile) -> Vec<UploadedPart> {
    let declared = claimed.file.part_checksums.as_deref().unwrap_or_default();
    let declared = declared.iter().copied().map(Some);
    let parts = claimed.parts.as_deref().unwrap_or_default();
    (1..)
        .zip(parts)
        .zip(declared.chain(std::iter::repeat(None)))
        .map(|((number, part), checksum)| UploadedPart {
            number,
            etag: part.etag.clone(),
            checksum,
        })
        .collect()
}
