//! Destroys the data keys of a project. What they encrypted can never be read again.

use domain::id::ProjectId;
use domain::time::Timestamp;

use super::rows::lock_project;
use crate::Error;
use crate::Transaction;

/// Processes forget the keys within a minute. The rows stay, so that the project never gets a key
/// again: what is still written cannot be read either.
pub async fn erase_project_keys(
    tx: &mut Transaction,
    project: ProjectId,
    now: Timestamp,
) -> Result<(), Error> {
    lock_project(tx, project).await?;
    sqlx::query!(
        "update shard.data_key set wrapped = null where project = $1",
        project.uuid()
    )
    .execute(&mut **tx)
    .await?;
    // A project without keys must not get one later.
    sqlx::query!(
        "insert into shard.data_key (project, number, master_key, created_at)
         select $1::uuid, 1, '', $2::timestamptz
         where not exists (select from shard.data_key where project = $1)",
        project.uuid(),
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
