//! From what the caller uploaded to one object in staging, or to what is wrong with it.

use domain::file::Flaw;
use domain::verdict;
use outbound::objects::{Finished, FinishedPart, Head, Objects};
use store::shard::file::ClaimedFile;

use super::hindered::Hindered;

/// The object as the store tells of it: there, and of the right size.
pub(super) async fn assemble(
    objects: &Objects,
    claimed: &ClaimedFile,
) -> Result<Result<Head, Flaw>, Hindered> {
    if let Err(flaw) = put_together(objects, claimed).await? {
        return Ok(Err(flaw));
    }
    let file = &claimed.file;
    Ok(match objects.head(&objects.staging(file.id)).await? {
        None => Err(Flaw::UploadMissing),
        Some(head) if head.size != file.size_bytes => Err(Flaw::SizeMismatch),
        Some(head) => Ok(head),
    })
}

/// Makes one object of the parts. From then on their grants are worth nothing.
///
/// An upload that is not there was put together before someone crashed, or never begun:
/// the object itself tells.
async fn put_together(
    objects: &Objects,
    claimed: &ClaimedFile,
) -> Result<Result<(), Flaw>, Hindered> {
    let file = &claimed.file;
    let Some(upload) = &file.upload else {
        return Ok(Ok(()));
    };
    let Some(stored) = objects.parts(file.id, upload).await? else {
        return Ok(Ok(()));
    };
    let stored: Vec<_> = stored.iter().map(|part| (part.number, part.size)).collect();
    if let Err(flaw) = verdict::parts(file.size_bytes, &stored) {
        return Ok(Err(flaw));
    }
    let listed = listed(claimed);
    if listed.len() != stored.len() {
        return Ok(Err(Flaw::UploadMissing));
    }
    Ok(
        match objects.finish_multipart(file.id, upload, &listed).await? {
            Finished::Done | Finished::NoSuchUpload => Ok(()),
            // The tags are of other bytes than those that lie there.
            Finished::Refused(_) => Err(Flaw::ChecksumMismatch),
        },
    )
}

/// As the caller listed them. A store that was told checksums at the beginning wants them again.
fn listed(claimed: &ClaimedFile) -> Vec<FinishedPart> {
    let declared = claimed.file.part_checksums.as_deref().unwrap_or_default();
    let declared = declared.iter().copied().map(Some);
    let parts = claimed.parts.as_deref().unwrap_or_default();
    (1..)
        .zip(parts)
        .zip(declared.chain(std::iter::repeat(None)))
        .map(|((number, part), checksum)| FinishedPart {
            number,
            etag: part.etag.clone(),
            checksum,
        })
        .collect()
}
