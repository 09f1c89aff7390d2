//! Input files of batches: completed parcels that live as long as their callers say, and no longer
//! than the retention of their project.

use chrono::TimeDelta;
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::shard::parcel::ParcelRow;
use crate::shard::retention;

/// Lets a completed parcel expire this long after its upload, also later than before, but not after
/// the retention of its project. Returns when.
///
/// If the project changes its retention meanwhile, sweep applies the new one.
pub async fn keep_for(
    shard: &Shard,
    file: &ParcelRow,
    lifetime: TimeDelta,
) -> Result<Timestamp, Error> {
    let retention = retention::find(shard, file.project).await?;
    let expires_at = file.created_at + lifetime.min(retention.max_input_age());
    sqlx::query!(
        "update shard.parcel set expires_at = $3
         where id = $1 and project = $2 and completed_at is not null",
        file.id.uuid(),
        file.project.uuid(),
        expires_at
    )
    .execute(&shard.pool)
    .await?;
    Ok(expires_at)
}
