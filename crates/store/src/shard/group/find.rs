//! Lookup of one group, of a page of a project's groups, and of a group's failures.

use domain::cargo_group::GroupStatus;
use domain::id::{CargoId, GroupId, ProjectId};
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::number::unsigned;
use crate::shard::group::row::{GroupRow, groups, read_group, read_groups};

/// Which groups to list. None matches all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GroupFilter {
    pub name_prefix: Option<String>,
    pub status: Option<GroupStatus>,
}

/// How often cargo of a group failed in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupFailure {
    /// The error without its details; with encryption its code.
    pub label: String,
    pub count: u64,
    /// An example.
    pub cargo: CargoId,
}

/// The group, if it belongs to the project.
pub async fn find(
    shard: &Shard,
    project: ProjectId,
    group: GroupId,
) -> Result<Option<GroupRow>, Error> {
    let row = groups!(
        "g as (select * from shard.cargo_group where id = $1 and project = $2)",
        group.uuid(),
        project.uuid()
    )
    .fetch_optional(&shard.reads)
    .await?;
    read_group(shard, row).await
}

/// At most `limit` groups, all older than `before`, newest first.
pub async fn list(
    shard: &Shard,
    project: ProjectId,
    filter: &GroupFilter,
    before: Option<GroupId>,
    limit: u32,
) -> Result<Vec<GroupRow>, Error> {
    let rows = groups!(
        "g as (
             select * from shard.cargo_group
             where project = $1 and id < $2 and starts_with(name, $3)
                 -- As `GroupStatus::of`.
                 and ($4::text is null or $4 = case
                     when cancel_requested_at is not null and completed_at is not null
                         then 'cancelled'
                     when cancel_requested_at is not null then 'cancelling'
                     when completed_at is not null then 'completed'
                     when sealed_at is not null then 'sealed'
                     else 'open' end)
             order by id desc limit $5
         )",
        project.uuid(),
        before.map_or(Uuid::max(), GroupId::uuid),
        filter.name_prefix.as_deref().unwrap_or_default(),
        filter.status.map(GroupStatus::as_str),
        i64::from(limit)
    )
    .fetch_all(&shard.reads)
    .await?;
    read_groups(shard, rows).await
}

/// The most frequent failures of a group, the largest count first.
pub async fn failures(
    shard: &Shard,
    group: GroupId,
    limit: u32,
) -> Result<Vec<GroupFailure>, Error> {
    let rows = sqlx::query!(
        "select label, count, cargo from shard.group_failure where group_id = $1
         order by count desc, label limit $2",
        group.uuid(),
        i64::from(limit)
    )
    .fetch_all(&shard.reads)
    .await?;
    let failures = rows.into_iter().map(|row| GroupFailure {
        label: row.label,
        count: unsigned(row.count),
        cargo: row.cargo.into(),
    });
    Ok(failures.collect())
}
