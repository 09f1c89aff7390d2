//! The models page: the lanes of models on this shard, and a project's cargo by model.

use domain::id::ProjectId;
use domain::route::InferenceMode;
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::number::unsigned;

/// A lane of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelLane {
    pub model: String,
    pub provider: String,
    pub via: InferenceMode,
    /// How long its recent batches took; None if none has ended yet.
    pub turnaround_seconds: Option<f64>,
    pub paused_at: Option<Timestamp>,
    pub pause_reason: Option<String>,
}

pub async fn list_lanes(shard: &Shard) -> Result<Vec<ModelLane>, Error> {
    let rows = sqlx::query!(
        "select model, provider, via, turnaround_seconds, paused_at, pause_reason
         from shard.lane order by model, provider, via"
    )
    .fetch_all(&shard.reads)
    .await?;
    let ways = rows.into_iter().map(|row| {
        Ok(ModelLane {
            model: row.model,
            provider: row.provider,
            via: InferenceMode::parse(&row.via).ok_or(Error::Corrupt {
                table: "lane",
                column: "via",
            })?,
            turnaround_seconds: row.turnaround_seconds,
            paused_at: row.paused_at,
            pause_reason: row.pause_reason,
        })
    });
    ways.collect()
}

/// The counts of a project's cargo of one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCounts {
    pub model: String,
    pub loaded: u64,
    pub succeeded: u64,
    pub failed: u64,
}

pub async fn count_by_model(
    shard: &Shard,
    project: ProjectId,
    since: Timestamp,
) -> Result<Vec<ModelCounts>, Error> {
    let rows = sqlx::query!(
        r#"select model,
               coalesce(sum(count) filter (where event = 'loaded'), 0)::bigint as "loaded!",
               coalesce(sum(count) filter (where event = 'succeeded'), 0)::bigint as "succeeded!",
               coalesce(sum(count) filter (where event = 'failed'), 0)::bigint as "failed!"
           from shard.usage
           where project = $1 and hour >= $2 and event in ('loaded', 'succeeded', 'failed')
           group by model"#,
        project.uuid(),
        since
    )
    .fetch_all(&shard.reads)
    .await?;
    let done = rows.into_iter().map(|row| ModelCounts {
        model: row.model,
        loaded: unsigned(row.loaded),
        succeeded: unsigned(row.succeeded),
        failed: unsigned(row.failed),
    });
    Ok(done.collect())
}
