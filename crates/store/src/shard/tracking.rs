//! The tracking record of a cargo.

mod row;

use domain::batch;
use domain::cargo::{CallbackState, CargoStatus};
use domain::id::{CargoId, GroupId, ProjectId};
use domain::model::ModelKind;
use domain::money::Money;
use domain::outcome::TokenUsage;
use domain::reason_code::FailureCode;
use domain::response_shape::ResponseShape;
use domain::route::InferenceMode;
use domain::time::Timestamp;
use domain::token_buckets::TokenBuckets;
use domain::waiting_status::CargoProgress;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::encryption::KeyRequest;
use crate::shard::project_keys::{read_keys, read_keys_within_limit};
use crate::shard::tracking::row::tracking_rows;
use crate::shard::waiting::id_bounds;

#[derive(Debug)]
pub struct TrackedCargo {
    pub status: CargoStatus,
    pub model: String,
    pub kind: ModelKind,
    pub attempt: u32,
    pub created_at: Timestamp,
    pub batched_at: Option<Timestamp>,
    pub processing_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub held: Money,
    pub outcome: Option<StoredOutcome>,
    pub callback: Option<TrackedCallback>,
    pub progress: CargoProgress,
    pub metadata: Option<Vec<u8>>,
    /// The warnings of its load as JSON.
    pub warnings: Option<Vec<u8>>,
    /// The caller's deadline.
    pub deadline_at: Option<Timestamp>,
    /// Why it takes its way; a code of `domain::route_choice`.
    pub route_reason: Option<String>,
    pub response_shape: ResponseShape,
    /// When its bodies were erased: the outcome's is empty then.
    pub erased_at: Option<Timestamp>,
    /// The caller's name for it.
    pub custom_id: Option<String>,
    pub group: Option<GroupId>,
    pub position: Option<u64>,
    /// When its caller first asked to cancel it.
    pub cancel_requested_at: Option<Timestamp>,
}

#[derive(Debug)]
pub struct StoredOutcome {
    pub success: bool,
    /// Of a failure; None if an earlier version stored it.
    pub failure_code: Option<String>,
    pub body: Vec<u8>,
    pub usage: TokenUsage,
    /// The same tokens by price. An earlier version stored no parts.
    pub buckets: TokenBuckets,
    /// The way by which the provider served it, if it is known.
    pub served: Option<InferenceMode>,
    pub charged: Money,
    /// None if it failed, was free, or had no known realtime price.
    pub realtime: Option<Money>,
}

impl StoredOutcome {
    /// The caller cancelled it before a provider had it.
    pub fn is_cancelled(&self) -> bool {
        self.failure_code.as_deref() == Some(FailureCode::Cancelled.as_str())
    }
}

#[derive(Debug)]
pub struct TrackedCallback {
    pub url: String,
    pub attempts: u32,
    pub last_attempt_at: Option<Timestamp>,
    pub last_status_code: Option<u16>,
    pub last_error: Option<String>,
    pub next_attempt_at: Option<Timestamp>,
    pub delivered_at: Option<Timestamp>,
}

/// The record of a cargo, if it belongs to the project.
pub async fn find(
    shard: &Shard,
    project: ProjectId,
    cargo: CargoId,
) -> Result<Option<TrackedCargo>, Error> {
    let row = tracking_rows!(
        "join shard.request r on r.cargo = $1
         left join shard.batch b on b.id = c.batch
         left join shard.outcome o on o.cargo = $1
         left join shard.delivery d on d.cargo = $1
         left join lateral (
             select number, started_at, status, error from shard.attempt
             where cargo = $1 order by number desc limit 1
         ) a on true
         where c.id = $1 and c.project = $2",
        cargo.uuid(),
        project.uuid()
    )
    .fetch_optional(&shard.reads)
    .await?;
    let Some(mut row) = row else {
        return Ok(None);
    };
    let keys = read_keys(shard, &row.key_request()).await?;
    row.decrypt(&keys)?;
    TrackedCargo::try_from(row).map(Some)
}

/// The record of a cargo, and its project.
#[derive(Debug)]
pub struct ProjectRecord {
    pub project: ProjectId,
    pub cargo: CargoId,
    pub record: TrackedCargo,
}

/// The records of these cargo, of any project, read by one statement: planning it takes longer than
/// reading a record. A record that cannot be read is left out; `find` says why.
pub async fn find_many(shard: &Shard, cargo: &[CargoId]) -> Result<Vec<ProjectRecord>, Error> {
    let ids: Vec<Uuid> = cargo.iter().map(|cargo| cargo.uuid()).collect();
    let (first, last) = id_bounds(&ids);
    let mut rows = tracking_rows!(
        "join shard.request r on r.cargo = c.id and r.cargo >= $2 and r.cargo <= $3
         left join shard.batch b on b.id = c.batch
         left join shard.outcome o on o.cargo = c.id and o.cargo >= $2 and o.cargo <= $3
         left join shard.delivery d on d.cargo = c.id
         left join lateral (
             select number, started_at, status, error from shard.attempt
             where cargo = c.id and cargo >= $2 and cargo <= $3 order by number desc limit 1
         ) a on true
         where c.id = any($1) and c.id >= $2 and c.id <= $3",
        &ids,
        first,
        last
    )
    .fetch_all(&shard.reads)
    .await?;
    let mut request = KeyRequest::default();
    for row in &rows {
        request.extend(&row.key_request());
    }
    let keys = read_keys_within_limit(shard, &request).await?;
    let records = rows.drain(..).filter_map(|mut row| {
        row.decrypt(&keys).ok()?;
        Some(ProjectRecord {
            project: row.project.into(),
            cargo: row.id.into(),
            record: TrackedCargo::try_from(row).ok()?,
        })
    });
    Ok(records.collect())
}

/// The first cargo at or after an id, and its project.
pub async fn find_at_or_after(
    shard: &Shard,
    id: Uuid,
) -> Result<Option<(CargoId, ProjectId)>, Error> {
    let row = sqlx::query!(
        "select id, project from shard.cargo where id >= $1 order by id limit 1",
        id
    )
    .fetch_optional(&shard.reads)
    .await?;
    Ok(row.map(|row| (row.id.into(), row.project.into())))
}

pub(crate) fn parse_batch_state(text: &str) -> Result<batch::BatchState, Error> {
    batch::BatchState::parse(text).ok_or(corrupt("batch", "state"))
}

pub(crate) fn parse_callback_state(text: &str) -> CallbackState {
    match text {
        "delivered" => CallbackState::Delivered,
        "failed" => CallbackState::Failed,
        _ => CallbackState::Open,
    }
}

const fn corrupt(table: &'static str, column: &'static str) -> Error {
    Error::Corrupt { table, column }
}
