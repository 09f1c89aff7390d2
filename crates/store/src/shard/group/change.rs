//! Sealing a group and asking for its cancellation.

use domain::id::{GroupId, ProjectId};
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::number::signed;
use crate::shard::group::find::find;
use crate::shard::group::row::{GroupRow, groups, read_group};

#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one is made per request, and nearly all have a row"
)]
pub enum SealResult {
    /// Now or earlier.
    Sealed(GroupRow),
    NotFound,
    /// The group has another number of cargo than the caller says. Nothing was changed.
    OtherTotal {
        total: u64,
    },
}

/// Seals a group: nothing more is added to it.
///
/// If nothing is unfinished, it is completed, and requests that wait for it are woken. The group of a batch with items to load is completed when
/// the last one is stored.
pub async fn seal(
    shard: &Shard,
    project: ProjectId,
    group: GroupId,
    total: Option<u64>,
    now: Timestamp,
) -> Result<SealResult, Error> {
    let row = groups!(
        "g as (
             update shard.cargo_group set sealed_at = coalesce(sealed_at, $3),
                 completed_at = case when total = succeeded + failed + cancelled
                         and not exists (select from shard.dropin_batch b
                             where b.group_id = cargo_group.id and b.unpacked_at is null)
                     then coalesce(completed_at, $3) else completed_at end
             where id = $1 and project = $2 and ($4::bigint is null or total = $4)
             returning *
         ), woken as (
             -- The last outcome came before, so nothing else wakes the requests that wait.
             insert into shard.feed (cargo, group_id)
             select '{}'::uuid[], array[id] from g where completed_at = $3
         )",
        group.uuid(),
        project.uuid(),
        now,
        total.map(signed)
    )
    .fetch_optional(&shard.pool)
    .await?;
    if let Some(sealed) = read_group(shard, row).await? {
        return Ok(SealResult::Sealed(sealed));
    }
    let found = find(shard, project, group).await?;
    Ok(
        found.map_or(SealResult::NotFound, |group| SealResult::OtherTotal {
            total: group.counts.total,
        }),
    )
}

/// Seals a group and asks for its cancellation; the sweep stage cancels its cargo. A completed group
/// stays as it is.
///
/// A group without unfinished cargo is cancelled at once, unless a batch has items for it that are
/// not stored yet.
pub async fn request_cancel(
    shard: &Shard,
    project: ProjectId,
    group: GroupId,
    now: Timestamp,
) -> Result<Option<GroupRow>, Error> {
    let row = groups!(
        "g as (
             update shard.cargo_group set sealed_at = coalesce(sealed_at, $3),
                 cancel_requested_at = coalesce(cancel_requested_at, $3),
                 completed_at = case when total = succeeded + failed + cancelled
                         and not exists (select from shard.dropin_batch b
                             where b.group_id = cargo_group.id and b.unpacked_at is null)
                     then $3 end
             where id = $1 and project = $2 and completed_at is null
             returning *
         ), woken as (
             insert into shard.feed (cargo, group_id)
             select '{}'::uuid[], array[id] from g where completed_at = $3
         )",
        group.uuid(),
        project.uuid(),
        now
    )
    .fetch_optional(&shard.pool)
    .await?;
    match read_group(shard, row).await? {
        Some(cancelled) => Ok(Some(cancelled)),
        None => find(shard, project, group).await,
    }
}
