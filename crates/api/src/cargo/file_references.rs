//! Finds the files that a load references.

use domain::admission::{self, LoadRefusal};
use domain::file::ReferencedFile;
use domain::id::{FileId, ProjectId};
use domain::params::Params;
use store::Shard;
use store::shard::file::reference;

/// Reads the files without a lock. The writer checks them again under a lock.
pub(super) async fn find_files(
    shard: &Shard,
    project: ProjectId,
    params: &Params,
) -> Result<Result<Vec<ReferencedFile>, LoadRefusal>, store::Error> {
    if params.file_references().next().is_none() {
        return Ok(Ok(Vec::new()));
    }
    let files: Vec<FileId> = params.file_ids().into_iter().collect();
    let found = reference::find(shard, project, &files).await?;
    Ok(admission::resolve_file_references(
        params,
        &found,
        shard.clock.now(),
    ))
}
