//! Lanes and their queues.

use crate::DatabaseSession;
use domain::lane::LaneId;
use domain::time::Timestamp;

use super::MAX_EXACT_COUNT;
use crate::Error;
use crate::Shard;

/// How much cargo waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueDepth {
    Exactly(i64),
    /// Too many to count: an estimate from the planner's statistics.
    About(i64),
}

#[derive(Debug, Clone)]
pub struct LaneBacklog {
    pub id: LaneId,
    pub provider: String,
    pub model: String,
    pub kind: String,
    pub via: String,
    /// How long its recent batches took at the provider.
    pub turnaround_seconds: Option<f64>,
    pub paused_at: Option<Timestamp>,
    pub paused_by: Option<String>,
    pub pause_reason: Option<String>,
    /// The node that gathers it.
    pub node: Option<String>,
    pub depth: QueueDepth,
    pub oldest: Option<Timestamp>,
}

pub async fn list_lane_backlogs(shard: &Shard) -> Result<Vec<LaneBacklog>, Error> {
    let mut connection = shard.reads.acquire().await?;
    let rows = sqlx::query!(
        r#"select l.id, l.provider, l.model, l.kind, l.via, l.turnaround_seconds, l.paused_at,
               l.paused_by, l.pause_reason, n.name as "node?", counted.depth as "depth!",
               (select cargo from shard.waiting where lane = l.id order by cargo limit 1) as oldest
           from shard.lane l
           left join shard.node n on n.node = l.node
           cross join lateral (
               select count(*) as depth
               from (select from shard.waiting where lane = l.id limit $1) few
           ) counted
           order by l.provider, l.model, l.kind, l.via limit 500"#,
        MAX_EXACT_COUNT + 1
    )
    .fetch_all(&mut connection)
    .await?;
    let mut lanes = Vec::with_capacity(rows.len());
    for row in rows {
        let depth = if row.depth > MAX_EXACT_COUNT {
            QueueDepth::About(
                estimate_rows(&mut connection, row.id)
                    .await?
                    .max(MAX_EXACT_COUNT),
            )
        } else {
            QueueDepth::Exactly(row.depth)
        };
        lanes.push(LaneBacklog {
            id: LaneId(row.id),
            provider: row.provider,
            model: row.model,
            kind: row.kind,
            via: row.via,
            turnaround_seconds: row.turnaround_seconds,
            paused_at: row.paused_at,
            paused_by: row.paused_by,
            pause_reason: row.pause_reason,
            node: row.node,
            depth,
            oldest: row.oldest.and_then(id_timestamp),
        });
    }
    Ok(lanes)
}

/// The time in the first bits of an id.
fn id_timestamp(id: sqlx::types::Uuid) -> Option<Timestamp> {
    let millis = i64::try_from(id.as_u128() >> 80).ok()?;
    Timestamp::from_timestamp_millis(millis)
}

/// The planner's estimate, without reading a row: `… (cost=0.42..8.44 rows=123 width=0)`.
async fn estimate_rows(connection: &mut DatabaseSession, lane: i32) -> Result<i64, Error> {
    let plan = sqlx::query_scalar!(r#"explain select from shard.waiting where lane = $1"#, lane)
        .fetch_all(connection)
        .await?;
    let first = plan.into_iter().flatten().next().unwrap_or_default();
    let rows = first.split("rows=").nth(1).unwrap_or_default();
    let digits = rows.split(' ').next().unwrap_or_default();
    Ok(digits.parse().unwrap_or_default())
}
