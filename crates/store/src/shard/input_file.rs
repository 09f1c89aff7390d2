//! Input files of batches: completed parcels that live as long as their callers say.

use domain::id::{ParcelId, ProjectId};
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;

/// Lets a completed parcel expire at a moment, also at a later one than before.
pub async fn keep_until(
    shard: &Shard,
    project: ProjectId,
    parcel: ParcelId,
    moment: Timestamp,
) -> Result<(), Error> {
    sqlx::query!(
        "update shard.parcel set expires_at = $3
         where id = $1 and project = $2 and completed_at is not null",
        parcel.uuid(),
        project.uuid(),
        moment
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}
