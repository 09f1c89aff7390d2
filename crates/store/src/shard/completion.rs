//! Which of some cargo are completed, read without their outcomes.

use domain::id::{CargoId, ProjectId};
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::shard::waiting::id_bounds;

/// A cargo of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CargoCompletion {
    pub cargo: CargoId,
    pub is_completed: bool,
}

/// Those of the cargo that the project has.
pub async fn find_of_project(
    shard: &Shard,
    project: ProjectId,
    cargo: &[CargoId],
) -> Result<Vec<CargoCompletion>, Error> {
    let ids = uuids(cargo);
    let (first, last) = id_bounds(&ids);
    let rows = sqlx::query!(
        r#"select id, completed_at is not null as "is_completed!" from shard.cargo
           where id = any($1) and id >= $2 and id <= $3 and project = $4"#,
        &ids,
        first,
        last,
        project.uuid()
    )
    .fetch_all(&shard.reads)
    .await?;
    let found = rows.into_iter().map(|row| CargoCompletion {
        cargo: row.id.into(),
        is_completed: row.is_completed,
    });
    Ok(found.collect())
}

/// A completed cargo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompletedCargoState {
    pub cargo: CargoId,
    /// Whether its callback was delivered or failed for good, or there is none.
    pub is_callback_ended: bool,
}

/// Those of the cargo, of any project, that are completed.
pub async fn find_completed(
    shard: &Shard,
    cargo: &[CargoId],
) -> Result<Vec<CompletedCargoState>, Error> {
    let ids = uuids(cargo);
    let (first, last) = id_bounds(&ids);
    let rows = sqlx::query!(
        r#"select id, callback_url is null or callback_state <> 'open' as "is_callback_ended!"
           from shard.cargo
           where id = any($1) and id >= $2 and id <= $3 and completed_at is not null"#,
        &ids,
        first,
        last
    )
    .fetch_all(&shard.reads)
    .await?;
    let found = rows.into_iter().map(|row| CompletedCargoState {
        cargo: row.id.into(),
        is_callback_ended: row.is_callback_ended,
    });
    Ok(found.collect())
}

fn uuids(cargo: &[CargoId]) -> Vec<Uuid> {
    cargo.iter().map(|cargo| cargo.uuid()).collect()
}
