//! The files that a load names, and what stands when they are gone.

use domain::admission::{self, LoadRefusal};
use domain::file::Referenced;
use domain::id::{CargoId, FileId, ProjectId};
use domain::idempotency::{self, Named};
use domain::params::Params;
use store::Shard;
use store::shard::file::reference;
use store::shard::load;

/// Looked up without a lock: the writer looks again, under it.
pub(super) async fn look_up(
    shard: &Shard,
    project: ProjectId,
    params: &Params,
) -> Result<Result<Vec<Referenced>, LoadRefusal>, store::Error> {
    if params.references().next().is_none() {
        return Ok(Ok(Vec::new()));
    }
    let files: Vec<FileId> = params.files().into_iter().collect();
    let found = reference::find(shard, project, &files).await?;
    Ok(admission::refer(params, &found, shard.clock.now()))
}

/// The cargo that this very body was loaded as before, under its key.
pub(super) async fn repeated(
    shard: &Shard,
    project: ProjectId,
    named: Option<&Named>,
) -> Result<Option<CargoId>, store::Error> {
    let Some(named) = named else {
        return Ok(None);
    };
    let since = shard.clock.now() - idempotency::KEPT;
    let earlier = load::repeated(shard, project, &named.key, since).await?;
    let earlier = earlier.filter(|earlier| named.repeats(&earlier.digest));
    Ok(earlier.map(|earlier| earlier.cargo))
}
