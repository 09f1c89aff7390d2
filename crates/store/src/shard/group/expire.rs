//! Deletes groups: those past the retention of cargo, and those of an erased project.

use domain::id::{self, ProjectId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;

/// How many rows of a group one statement deletes.
const MAX_ROWS_PER_STATEMENT: i64 = 1000;

/// Deletes at most `limit` groups whose newest cargo and end are before `before`, and that have no
/// unfinished cargo. Returns how many.
pub async fn delete_expired(shard: &Shard, before: Timestamp, limit: i64) -> Result<usize, Error> {
    // Ids are in the order of creation.
    let expired = sqlx::query_scalar!(
        "select id from shard.cargo_group
         where id < $1 and coalesce(completed_at, loaded_at, created_at) < $2
             and total = succeeded + failed + cancelled
         order by id limit $3",
        id::first_id_at(before),
        before,
        limit
    )
    .fetch_all(&shard.background)
    .await?;
    for group in &expired {
        delete_group(shard, *group).await?;
    }
    Ok(expired.len())
}

/// Deletes the groups of a project, except those with unfinished cargo.
pub(crate) async fn delete_of_project(shard: &Shard, project: ProjectId) -> Result<(), Error> {
    let groups = sqlx::query_scalar!(
        "select id from shard.cargo_group
         where project = $1 and total = succeeded + failed + cancelled",
        project.uuid()
    )
    .fetch_all(&shard.pool)
    .await?;
    for group in groups {
        delete_group(shard, group).await?;
    }
    Ok(())
}

/// Deletes the rows of a group, a few at a time, and the group last: after an interruption the
/// next call finds it.
async fn delete_group(shard: &Shard, group: Uuid) -> Result<(), Error> {
    // A load that comes later is refused. One that came first keeps the group.
    let sealed = sqlx::query!(
        "update shard.cargo_group set sealed_at = coalesce(sealed_at, created_at)
         where id = $1 and total = succeeded + failed + cancelled",
        group
    )
    .execute(&shard.background)
    .await?;
    if sealed.rows_affected() == 0 {
        return Ok(());
    }
    loop {
        let deleted = sqlx::query_scalar!(
            r#"with members as (
                   delete from shard.group_member where (group_id, position) in (
                       select group_id, position from shard.group_member
                       where group_id = $1 limit $2)
                   returning 1
               ), results as (
                   delete from shard.group_result where (group_id, number) in (
                       select group_id, number from shard.group_result
                       where group_id = $1 limit $2)
                   returning 1
               ), failures as (
                   delete from shard.group_failure where (group_id, label) in (
                       select group_id, label from shard.group_failure
                       where group_id = $1 limit $2)
                   returning 1
               )
               select (select count(*) from members) + (select count(*) from results)
                   + (select count(*) from failures) as "deleted!""#,
            group,
            MAX_ROWS_PER_STATEMENT
        )
        .fetch_one(&shard.background)
        .await?;
        if deleted == 0 {
            break;
        }
    }
    sqlx::query!(
        "with callback as (delete from shard.delivery where cargo = $1)
         delete from shard.cargo_group where id = $1",
        group
    )
    .execute(&shard.background)
    .await?;
    Ok(())
}
