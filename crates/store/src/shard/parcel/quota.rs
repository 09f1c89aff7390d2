//! How many bytes of parcels an organization may have, and how many bodies may arrive at once.

use domain::id::{OrganizationId, ProjectId};
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::number::unsigned;

/// Of all parcels of an organization that are not deleted, also of bodies that arrive.
pub const MAX_PARCEL_BYTES: u64 = 2 << 30;
/// Bodies of a project that arrive at the same time.
pub const MAX_INCOMPLETE_PARCELS: u64 = 20;

/// Why an organization or a project may store no further parcel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParcelRefusal {
    #[error(
        "The input files and batches of your organization may have {} bytes \
         together. Delete input files that you no longer need, or wait until batches are loaded.",
        MAX_PARCEL_BYTES
    )]
    StorageFull,
    #[error(
        "This project sends {} input files or batches at the same time. Wait \
         until one of them has arrived.",
        MAX_INCOMPLETE_PARCELS
    )]
    TooManyIncomplete,
}

/// How many bytes the next parcel of the project may have. Concurrent bodies may exceed the limit
/// by their size.
pub async fn remaining_bytes(
    shard: &Shard,
    organization: OrganizationId,
    project: ProjectId,
    now: Timestamp,
) -> Result<Result<u64, ParcelRefusal>, Error> {
    let used = sqlx::query!(
        r#"select coalesce(sum(bytes), 0)::bigint as "bytes!",
               count(*) filter (where project = $2 and completed_at is null and expires_at > $3)
                   as "incomplete!"
           from shard.parcel where organization = $1"#,
        organization.uuid(),
        project.uuid(),
        now
    )
    .fetch_one(&shard.pool)
    .await?;
    if unsigned(used.incomplete) >= MAX_INCOMPLETE_PARCELS {
        return Ok(Err(ParcelRefusal::TooManyIncomplete));
    }
    let remaining = MAX_PARCEL_BYTES.saturating_sub(unsigned(used.bytes));
    Ok(if remaining == 0 {
        Err(ParcelRefusal::StorageFull)
    } else {
        Ok(remaining)
    })
}
