//! What the spans of a batch need: its sampled cargo and its times. Read only while tracing is on.

use domain::cargo_spans::TracedCargo;
use domain::id::{BatchId, CargoId};
use domain::time::Timestamp;
use domain::trace_context::TraceContext;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::shard::waiting::id_bounds;

/// A sampled cargo, and the batch that it is in without an outcome.
#[derive(Debug, Clone)]
pub struct TracedCargoRow {
    pub cargo: TracedCargo,
    pub open_in: Option<BatchId>,
}

/// When the provider was called with a batch, and when it had accepted it.
#[derive(Debug, Clone, Copy)]
pub struct SubmissionTimes {
    pub started_at: Timestamp,
    pub accepted_at: Timestamp,
}

/// The sampled cargo among these.
pub async fn list_traced(shard: &Shard, cargo: &[CargoId]) -> Result<Vec<TracedCargoRow>, Error> {
    let ids: Vec<Uuid> = cargo.iter().map(|id| id.uuid()).collect();
    let (first, last) = id_bounds(&ids);
    let rows = sqlx::query!(
        r#"select id, organization, project, model, attempt, created_at, returned_at,
               case when completed_at is null then batch end as open_in, trace as "trace!"
           from shard.cargo
           where id = any($1) and id >= $2 and id <= $3 and trace is not null"#,
        &ids,
        first,
        last
    )
    .fetch_all(&shard.pool)
    .await?;
    let traced = rows.into_iter().filter_map(|row| {
        let cargo = TracedCargo {
            context: TraceContext::from_stored(&row.trace)?,
            cargo: row.id.into(),
            organization: row.organization.into(),
            project: row.project.into(),
            model: row.model,
            attempt: u32::try_from(row.attempt).unwrap_or(1),
            queued_at: row.returned_at.unwrap_or(row.created_at),
        };
        let open_in = row.open_in.map(BatchId::from_uuid);
        Some(TracedCargoRow { cargo, open_in })
    });
    Ok(traced.collect())
}

/// None: the provider has not accepted the batch.
pub async fn find_submission(
    shard: &Shard,
    batch: BatchId,
) -> Result<Option<SubmissionTimes>, Error> {
    let row = sqlx::query!(
        "select coalesce(sent_at, submitting_at) as started_at, running_at as accepted_at
         from shard.batch where id = $1",
        batch.uuid()
    )
    .fetch_optional(&shard.pool)
    .await?;
    Ok(row.and_then(|row| {
        Some(SubmissionTimes {
            started_at: row.started_at?,
            accepted_at: row.accepted_at?,
        })
    }))
}
