//! Reads batches, and hides those that their callers delete.

use domain::dropin::Facade;
use domain::id::{GroupId, ProjectId};
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::shard::dropin::row::{DropinBatch, batches, read_batch, read_batches};

/// A page of batches, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropinPage {
    /// The newest ones that are older than this one, or the newest of all.
    OlderThan(Option<GroupId>),
    /// The oldest ones that are newer than this one, also newest first.
    NewerThan(GroupId),
}

/// A batch that is not hidden.
pub async fn find(
    shard: &Shard,
    project: ProjectId,
    facade: Facade,
    group: GroupId,
) -> Result<Option<DropinBatch>, Error> {
    let row = batches!(
        "b as (select * from shard.dropin_batch
               where group_id = $1 and project = $2 and facade = $3 and hidden_at is null)",
        "b.group_id",
        group.uuid(),
        project.uuid(),
        facade.code()
    )
    .fetch_optional(&shard.pool)
    .await?;
    read_batch(shard, row).await
}

/// Batches that are not hidden, newest first.
pub async fn list(
    shard: &Shard,
    project: ProjectId,
    facade: Facade,
    page: DropinPage,
    limit: u32,
) -> Result<Vec<DropinBatch>, Error> {
    let limit = i64::from(limit);
    let rows = match page {
        DropinPage::OlderThan(before) => {
            batches!(
                "b as (select * from shard.dropin_batch
                       where project = $1 and facade = $2 and hidden_at is null
                           and ($3::uuid is null or group_id < $3)
                       order by group_id desc limit $4)",
                "b.group_id desc",
                project.uuid(),
                facade.code(),
                before.map(GroupId::uuid),
                limit
            )
            .fetch_all(&shard.reads)
            .await?
        }
        DropinPage::NewerThan(after) => {
            batches!(
                "b as (select * from shard.dropin_batch
                       where project = $1 and facade = $2 and hidden_at is null and group_id > $3
                       order by group_id limit $4)",
                "b.group_id desc",
                project.uuid(),
                facade.code(),
                after.uuid(),
                limit
            )
            .fetch_all(&shard.reads)
            .await?
        }
    };
    read_batches(shard, rows).await
}

/// Hides a batch from its format. Its group and its cargo stay until the retention.
pub async fn hide(
    shard: &Shard,
    project: ProjectId,
    group: GroupId,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query!(
        "update shard.dropin_batch set hidden_at = $3 where group_id = $1 and project = $2",
        group.uuid(),
        project.uuid(),
        now
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}
