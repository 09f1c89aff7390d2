//! What operators change: encryption is switched on, and keys are rotated. No value is rewritten.

use domain::id::ProjectId;
use domain::master_key::MasterKeyFailure;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use super::master::{create_key, master_keys};
use super::rows;
use crate::Error;
use crate::Shard;

/// The result of a rotation of a project's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectKeyRotation {
    /// The number of the key that encrypts from now on.
    Rotated(u32),
    /// The project has no key yet: the first value gets one.
    NoKey,
    Erased,
}

/// Encrypts new values on this shard from now on. Returns since when they are.
pub async fn enable(shard: &Shard, now: Timestamp) -> Result<Timestamp, Error> {
    let enabled_at = sqlx::query_scalar!(
        r#"insert into shard.encryption (enabled_at) values ($1)
           on conflict (one) do update
               set enabled_at = coalesce(encryption.enabled_at, excluded.enabled_at)
           returning enabled_at as "enabled_at!""#,
        now
    )
    .fetch_one(&shard.pool)
    .await?;
    shard.keys.set_enabled(true, now);
    Ok(enabled_at)
}

/// Gives a project a new key. The old ones decrypt what they encrypted.
pub async fn rotate_project_key(
    shard: &Shard,
    project: ProjectId,
    now: Timestamp,
) -> Result<ProjectKeyRotation, Error> {
    let newest = rows::list_newest(shard, &[project]).await?.remove(&project);
    let Some(newest) = newest else {
        return Ok(ProjectKeyRotation::NoKey);
    };
    if newest.wrapped.is_none() {
        return Ok(ProjectKeyRotation::Erased);
    }
    let created = create_key(shard, project, newest.number + 1, now, None).await?;
    Ok(match created.wrapped {
        Some(_) => ProjectKeyRotation::Rotated(created.number),
        None => ProjectKeyRotation::Erased,
    })
}

/// Wraps the next data keys that another master key wraps with the current one, at most `most`
/// after `after`. Returns how many, and the last one; nothing if there are no more.
pub async fn rewrap_data_keys(
    shard: &Shard,
    after: Option<(Uuid, i32)>,
    most: i64,
) -> Result<Option<(u64, (Uuid, i32))>, Error> {
    let master_keys = master_keys(shard)?;
    let current = master_keys.current_id();
    let (project, number) = after.unwrap_or_default();
    let old = sqlx::query!(
        r#"select project, number, master_key, wrapped as "wrapped!" from shard.data_key
           where wrapped is not null and master_key <> $1 and (project, number) > ($2::uuid, $3::int)
           order by project, number limit $4"#,
        current,
        project,
        number,
        most
    )
    .fetch_all(&shard.pool)
    .await?;
    let (mut count, mut last) = (0, None);
    for row in old {
        let plain = master_keys.unwrap_key(&row.master_key, &row.wrapped).await;
        let wrapped = master_keys
            .wrap_key(&plain.map_err(|it| unavailable(&it))?)
            .await;
        let wrapped = wrapped.map_err(|it| unavailable(&it))?;
        let changed = sqlx::query!(
            "update shard.data_key set wrapped = $4, master_key = $3
             where project = $1 and number = $2 and wrapped = $5",
            row.project,
            row.number,
            current,
            wrapped,
            row.wrapped
        )
        .execute(&shard.pool)
        .await?;
        count += changed.rows_affected();
        last = Some((row.project, row.number));
    }
    Ok(last.map(|last| (count, last)))
}

fn unavailable(failure: &MasterKeyFailure) -> Error {
    Error::KeyUnavailable(failure.to_string())
}
