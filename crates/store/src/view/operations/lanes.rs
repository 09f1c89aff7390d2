//! Lanes, with what waits in each.

use crate::Session;
use domain::lane::LaneId;
use domain::time::Timestamp;

use super::EXACT;
use crate::Error;
use crate::Shard;

/// How many wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    Exactly(i64),
    /// More than are counted: about so many, by the planner's statistics.
    About(i64),
}

#[derive(Debug, Clone)]
pub struct Waiting {
    pub id: LaneId,
    pub provider: String,
    pub model: String,
    pub kind: String,
    pub via: String,
    /// How long its batches took at the provider, lately.
    pub turnaround_seconds: Option<f64>,
    pub paused_at: Option<Timestamp>,
    pub paused_by: Option<String>,
    pub pause_reason: Option<String>,
    /// Who gathers it.
    pub node: Option<String>,
    pub depth: Depth,
    pub oldest: Option<Timestamp>,
}

pub async fn lanes(shard: &Shard) -> Result<Vec<Waiting>, Error> {
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
        EXACT + 1
    )
    .fetch_all(&mut connection)
    .await?;
    let mut lanes = Vec::with_capacity(rows.len());
    for row in rows {
        let depth = if row.depth > EXACT {
            Depth::About(estimate(&mut connection, row.id).await?.max(EXACT))
        } else {
            Depth::Exactly(row.depth)
        };
        lanes.push(Waiting {
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
            oldest: row.oldest.and_then(made_at),
        });
    }
    Ok(lanes)
}

/// An id begins with its moment.
fn made_at(id: sqlx::types::Uuid) -> Option<Timestamp> {
    let millis = i64::try_from(id.as_u128() >> 80).ok()?;
    Timestamp::from_timestamp_millis(millis)
}

/// What the planner expects, without reading a row: `… (cost=0.42..8.44 rows=123 width=0)`.
async fn estimate(connection: &mut Session, lane: i32) -> Result<i64, Error> {
    let plan = sqlx::query_scalar!(r#"explain select from shard.waiting where lane = $1"#, lane)
        .fetch_all(connection)
        .await?;
    let first = plan.into_iter().flatten().next().unwrap_or_default();
    let rows = first.split("rows=").nth(1).unwrap_or_default();
    let digits = rows.split(' ').next().unwrap_or_default();
    Ok(digits.parse().unwrap_or_default())
}
