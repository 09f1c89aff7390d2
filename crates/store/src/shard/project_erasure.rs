//! Erases everything that a project has on its shard, a few rows at a time. After an interruption
//! it is repeated from the start, and finds less.

use domain::id::ProjectId;
use domain::retention::ProjectRetention;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::number::unsigned;
use crate::shard::cargo_erasure;
use crate::shard::dropin;
use crate::shard::group;
use crate::shard::parcel;
use crate::shard::retention;
use crate::shard::waiting::id_bounds;

mod files;

/// How many rows one transaction erases.
const MAX_ROWS_PER_TRANSACTION: i64 = 500;

/// What a project still has on its shard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProjectContents {
    /// Completed, and with a body or a callback host.
    pub cargo: u64,
    /// Cargo without an outcome: a provider may be working on it.
    pub open_cargo: u64,
    pub files: u64,
    /// Bytes in the object store. Sweep removes them once no file needs them.
    pub objects: u64,
    /// Groups, idempotency keys, counts of callbacks by host, resends and settings.
    pub other_rows: u64,
}

impl ProjectContents {
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            cargo: self.cargo + other.cargo,
            open_cargo: self.open_cargo + other.open_cargo,
            files: self.files + other.files,
            objects: self.objects + other.objects,
            other_rows: self.other_rows + other.other_rows,
        }
    }
}

pub async fn count(shard: &Shard, project: ProjectId) -> Result<ProjectContents, Error> {
    let row = sqlx::query!(
        r#"select
               (select count(*) from shard.cargo where project = $1 and completed_at is not null
                    and (erased_at is null or callback_host is not null)) as "cargo!",
               (select count(*) from shard.cargo where project = $1 and completed_at is null)
                   as "open_cargo!",
               (select count(*) from shard.file where project = $1) as "files!",
               (select count(*) from shard.object where project = $1) as "objects!",
               (select count(*) from shard.idempotency where project = $1)
                   + (select count(*) from shard.callback_hour where project = $1)
                   + (select count(*) from shard.cargo_group where project = $1)
                   + (select count(*) from shard.callback_setting where project = $1)
                   + (select count(*) from shard.resend where project = $1)
                   + (select count(*) from shard.retention where project = $1) as "other_rows!""#,
        project.uuid()
    )
    .fetch_one(&shard.pool)
    .await?;
    Ok(ProjectContents {
        cargo: unsigned(row.cargo),
        open_cargo: unsigned(row.open_cargo),
        files: unsigned(row.files),
        objects: unsigned(row.objects),
        other_rows: unsigned(row.other_rows),
    })
}

/// Erases what can be erased now, and returns what is left. The project accepts no loads any more.
///
/// Cargo in flight is finished. Until this is repeated, zero retention erases its bodies.
pub async fn erase(
    shard: &Shard,
    project: ProjectId,
    now: Timestamp,
) -> Result<ProjectContents, Error> {
    retention::set(shard, project, ProjectRetention::Zero, now).await?;
    // First: a running resend would queue deliveries.
    delete_settings(shard, project).await?;
    erase_cargo(shard, project, now).await?;
    files::erase(shard, project, now).await?;
    delete_counts(shard, project).await?;
    // Batches before their items: the unpacker loads nothing more.
    dropin::delete_of_project(shard, project).await?;
    parcel::delete_of_project(shard, project).await?;
    group::delete_of_project(shard, project).await?;
    let left = count(shard, project).await?;
    if left.open_cargo > 0 {
        return Ok(left);
    }
    retention::set(shard, project, ProjectRetention::Installation, now).await?;
    sqlx::query!(
        "delete from shard.erasure where project = $1",
        project.uuid()
    )
    .execute(&shard.pool)
    .await?;
    count(shard, project).await
}

/// Erases completed cargo, in the order of ids. Callbacks that are not sent yet are not sent.
async fn erase_cargo(shard: &Shard, project: ProjectId, now: Timestamp) -> Result<(), Error> {
    let mut after = Uuid::nil();
    loop {
        let page = sqlx::query_scalar!(
            "select id from shard.cargo where project = $1 and id > $2 order by id limit $3",
            project.uuid(),
            after,
            MAX_ROWS_PER_TRANSACTION
        )
        .fetch_all(&shard.pool)
        .await?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = *last;
        let (first, last) = id_bounds(&page);
        let mut tx = shard.begin().await?;
        // Before the cargo, as deliver locks them.
        sqlx::query!("delete from shard.delivery where cargo = any($1)", &page)
            .execute(&mut *tx)
            .await?;
        let completed = sqlx::query_scalar!(
            "select id from shard.cargo
             where id = any($1) and id >= $2 and id <= $3 and completed_at is not null
                 and (erased_at is null or callback_host is not null)
             order by id for no key update",
            &page,
            first,
            last
        )
        .fetch_all(&mut *tx)
        .await?;
        cargo_erasure::erase(&mut tx, &completed, now).await?;
        sqlx::query!(
            "update shard.cargo set callback_url = null, callback_host = null
             where id = any($1) and id >= $2 and id <= $3 and erased_at is not null",
            &completed,
            first,
            last
        )
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
    }
}

async fn delete_settings(shard: &Shard, project: ProjectId) -> Result<(), Error> {
    sqlx::query!(
        "with settings as (delete from shard.callback_setting where project = $1),
             listeners as (delete from shard.listener where project = $1),
             handovers as (delete from shard.handover where project = $1)
         delete from shard.resend where project = $1",
        project.uuid()
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}

/// Deletes idempotency keys and counts of callbacks.
async fn delete_counts(shard: &Shard, project: ProjectId) -> Result<(), Error> {
    // What is not folded yet loses the host here, and is deleted next time.
    sqlx::query!(
        "update shard.callback_delta d set host = array(
             select case when item.project = $1 then 'erased' else item.host end
             from unnest(d.project, d.host) with ordinality as item (project, host, number)
             order by item.number)
         where $1 = any(d.project)",
        project.uuid()
    )
    .execute(&shard.pool)
    .await?;
    loop {
        let deleted = sqlx::query_scalar!(
            r#"with keys as (
                   delete from shard.idempotency where (project, key) in (
                       select project, key from shard.idempotency where project = $1 limit $2)
                   returning 1
               ), hours as (
                   delete from shard.callback_hour where (project, hour, host, ending, class) in (
                       select project, hour, host, ending, class from shard.callback_hour
                       where project = $1 limit $2)
                   returning 1
               )
               select (select count(*) from keys) + (select count(*) from hours) as "deleted!""#,
            project.uuid(),
            MAX_ROWS_PER_TRANSACTION
        )
        .fetch_one(&shard.pool)
        .await?;
        if deleted == 0 {
            return Ok(());
        }
    }
}
