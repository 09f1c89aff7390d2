//! Finds the files that a load references, and the first load of an idempotency key.

use domain::admission::{self, LoadRefusal};
use domain::file::ReferencedFile;
use domain::id::{CargoId, FileId, ProjectId};
use domain::idempotency::{self, IdempotencyKey};
use domain::params::Params;
use store::Shard;
use store::shard::file::reference;
use store::shard::load;

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

/// The cargo that was loaded before with the same idempotency key and body.
pub(super) async fn find_replay(
    shard: &Shard,
    project: ProjectId,
    named: Option<&IdempotencyKey>,
) -> Result<Option<CargoId>, store::Error> {
    let Some(named) = named else {
        return Ok(None);
    };
    let since = shard.clock.now() - idempotency::IDEMPOTENCY_KEY_RETENTION;
    let earlier = load::find_idempotency_record(shard, project, &named.key, since).await?;
    let earlier = earlier.filter(|earlier| named.matches_body(&earlier.digest));
    Ok(earlier.map(|earlier| earlier.cargo))
}
