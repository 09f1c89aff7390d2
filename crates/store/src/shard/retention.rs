//! How long the bodies of each project's cargo and its input files are kept, and the erasure of what
//! is past that.
//! Stages read it here, because they never need control.

use domain::id::ProjectId;
use domain::retention::ProjectRetention;
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::shard::parcel;

mod candidates;
mod ended_groups;
mod walk;

pub use walk::{MAX_CARGO_PER_STEP, erase_queued, walk};

/// What a project chose.
pub async fn find(shard: &Shard, project: ProjectId) -> Result<ProjectRetention, Error> {
    let days = sqlx::query_scalar!(
        "select days from shard.retention where project = $1",
        project.uuid()
    )
    .fetch_optional(&shard.pool)
    .await?;
    Ok(days.map_or(ProjectRetention::Installation, retention_from_row))
}

/// Changes the retention of a project. Sweep starts to erase what is past it at once. Input files
/// expire earlier at once, and never later again.
pub async fn set(
    shard: &Shard,
    project: ProjectId,
    retention: ProjectRetention,
    now: Timestamp,
) -> Result<(), Error> {
    let days = match retention {
        ProjectRetention::Installation => {
            // Rows of shard.erasure are dropped when they are due.
            sqlx::query!(
                "delete from shard.retention where project = $1",
                project.uuid()
            )
            .execute(&shard.pool)
            .await?;
            return Ok(());
        }
        ProjectRetention::Days(days) => i16::try_from(days).unwrap_or(i16::MAX),
        ProjectRetention::Zero => 0,
    };
    sqlx::query!(
        "insert into shard.retention (project, days, next_at) values ($1, $2, $3)
         on conflict (project) do update set days = excluded.days, next_at = excluded.next_at",
        project.uuid(),
        days,
        now
    )
    .execute(&shard.pool)
    .await?;
    parcel::limit_age(shard, project.uuid(), retention, now).await
}

fn retention_from_row(days: i16) -> ProjectRetention {
    match u16::try_from(days) {
        Ok(0) | Err(_) => ProjectRetention::Zero,
        Ok(days) => ProjectRetention::Days(days),
    }
}
