//! How the callbacks of each project are sent. Stages read it here, because they never need
//! control.

use std::collections::HashMap;

use domain::callback_settings::{
    CallbackSettings, CallbackSettingsChange, CallbackSettingsRefusal, PreviousSecret,
};
use domain::id::ProjectId;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;

/// The only scheme: HMAC-SHA256, as Standard Webhooks defines it.
const SCHEME: &str = "v1";

/// The settings of those projects that have any.
pub async fn list(
    shard: &Shard,
    projects: &[ProjectId],
) -> Result<HashMap<ProjectId, CallbackSettings>, Error> {
    let projects: Vec<Uuid> = projects.iter().map(|project| project.uuid()).collect();
    let rows = sqlx::query_as!(
        Row,
        "select project, scheme, version, previous, previous_until, metadata
         from shard.callback_setting where project = any($1)",
        &projects
    )
    .fetch_all(&shard.pool)
    .await?;
    let settings = rows.into_iter();
    Ok(settings
        .map(|row| (row.project.into(), row.into()))
        .collect())
}

/// The settings of one project.
pub async fn find(shard: &Shard, project: ProjectId) -> Result<CallbackSettings, Error> {
    let mut found = list(shard, &[project]).await?;
    Ok(found.remove(&project).unwrap_or_default())
}

/// Changes the settings of one project, if the rules allow it.
pub async fn change(
    shard: &Shard,
    project: ProjectId,
    change: CallbackSettingsChange,
    now: Timestamp,
) -> Result<Result<CallbackSettings, CallbackSettingsRefusal>, Error> {
    let mut tx = shard.begin().await?;
    // Locks the row, also one that exists already.
    let row = sqlx::query_as!(
        Row,
        "insert into shard.callback_setting (project, version) values ($1, 0)
         on conflict (project) do update set metadata = callback_setting.metadata
         returning project, scheme, version, previous, previous_until, metadata",
        project.uuid()
    )
    .fetch_one(&mut *tx)
    .await?;
    let changed = match CallbackSettings::from(row).apply(change, now) {
        Ok(changed) => changed,
        Err(refusal) => return Ok(Err(refusal)),
    };
    sqlx::query!(
        "update shard.callback_setting
         set scheme = $2, version = $3, previous = $4, previous_until = $5, metadata = $6
         where project = $1",
        project.uuid(),
        changed.is_signed.then_some(SCHEME),
        signed_version(changed.version),
        changed.previous.map(|it| signed_version(it.version)),
        changed.previous.map(|it| it.until),
        changed.includes_metadata
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(Ok(changed))
}

/// How many projects have signed callbacks.
pub async fn count_signed(shard: &Shard) -> Result<i64, Error> {
    let signed = sqlx::query_scalar!(
        r#"select count(*) as "count!" from shard.callback_setting where scheme is not null"#
    );
    Ok(signed.fetch_one(&shard.pool).await?)
}

fn signed_version(version: u32) -> i32 {
    i32::try_from(version).unwrap_or(i32::MAX)
}

struct Row {
    project: Uuid,
    scheme: Option<String>,
    version: i32,
    previous: Option<i32>,
    previous_until: Option<Timestamp>,
    metadata: bool,
}

impl From<Row> for CallbackSettings {
    fn from(row: Row) -> Self {
        let number = |version: i32| u32::try_from(version).unwrap_or_default();
        let previous = row.previous.zip(row.previous_until);
        Self {
            is_signed: row.scheme.is_some(),
            version: number(row.version),
            previous: previous.map(|(version, until)| PreviousSecret {
                version: number(version),
                until,
            }),
            includes_metadata: row.metadata,
        }
    }
}
