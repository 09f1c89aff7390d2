//! The list of a project's cargo, newest first: by id, or by the failure index.

use std::collections::HashMap;

use domain::batch;
use domain::cargo::{CallbackState, CargoStatus};
use domain::id::{ApiKeyId, CargoId, ProjectId};
use domain::money::Money;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::shard::cargo_id_range::CargoIdRange;
use crate::shard::failure_index::FailureKind;
use crate::shard::waiting::id_bounds;

/// A cargo as a list shows it.
#[derive(Debug, Clone)]
pub struct CargoListItem {
    pub id: CargoId,
    pub key: ApiKeyId,
    pub model: String,
    pub created_at: Timestamp,
    pub completed_at: Option<Timestamp>,
    pub success: Option<bool>,
    pub callback: CallbackState,
    pub callback_host: Option<String>,
    pub held: Money,
    batch: Option<Uuid>,
    /// The state of its batch, while it has no outcome.
    state: Option<batch::BatchState>,
}

impl CargoListItem {
    pub fn status(&self) -> CargoStatus {
        CargoStatus::from_rows(self.state, self.completed_at.map(|_| self.callback))
    }
}

/// The usage and charge of an outcome.
#[derive(Debug, Clone, Copy)]
pub struct OutcomeSummary {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub charged: Money,
    /// The caller cancelled it. It is not among the failed.
    pub is_cancelled: bool,
}

struct Row {
    id: Uuid,
    api_key: Uuid,
    model: String,
    created_at: Timestamp,
    completed_at: Option<Timestamp>,
    success: Option<bool>,
    callback_state: String,
    callback_host: Option<String>,
    held: Option<i64>,
    batch: Option<Uuid>,
}

impl From<Row> for CargoListItem {
    fn from(row: Row) -> Self {
        Self {
            id: row.id.into(),
            key: row.api_key.into(),
            model: row.model,
            created_at: row.created_at,
            completed_at: row.completed_at,
            success: row.success,
            callback: match row.callback_state.as_str() {
                "delivered" => CallbackState::Delivered,
                "failed" => CallbackState::Failed,
                _ => CallbackState::Open,
            },
            callback_host: row.callback_host,
            held: row.held.map_or(Money::ZERO, Money),
            batch: row.batch,
            state: None,
        }
    }
}

/// A transaction in which rows are read in index order, for any planner estimate: without sorting,
/// only the rows that are shown are read.
pub(super) async fn begin_index_ordered(shard: &Shard) -> Result<Transaction, Error> {
    let mut tx = shard.begin().await?;
    sqlx::query!("set local enable_sort = off")
        .execute(&mut *tx)
        .await?;
    Ok(tx)
}

/// The newest cargo in a range of ids.
///
/// Ordered and bounded by both columns, so that only the index on both can be used. A scan of the
/// index on the id alone would read over the cargo of other projects.
pub async fn list_newest(
    shard: &Shard,
    project: ProjectId,
    span: CargoIdRange,
    most: u32,
) -> Result<Vec<CargoListItem>, Error> {
    let mut tx = begin_index_ordered(shard).await?;
    let rows = sqlx::query_as!(
        Row,
        "select id, api_key, model, created_at, completed_at, success, callback_state,
             callback_host, held, batch
         from shard.cargo
         where (project, id) >= ($1, $2) and (project, id) < ($1, $3) and id >= $2 and id < $3
         order by project desc, id desc limit $4",
        project.uuid(),
        span.first,
        span.beyond,
        i64::from(most)
    )
    .fetch_all(&mut *tx)
    .await?;
    tx.commit().await?;
    with_states(shard, rows).await
}

/// When the project last loaded cargo. Ordered by both columns for the same reason.
pub async fn find_last_loaded_at(
    shard: &Shard,
    project: ProjectId,
) -> Result<Option<Timestamp>, Error> {
    let mut tx = begin_index_ordered(shard).await?;
    let last = sqlx::query_scalar!(
        "select created_at from shard.cargo where project >= $1 and project <= $1
         order by project desc, id desc limit 1",
        project.uuid()
    );
    let last = last.fetch_optional(&mut *tx).await?;
    tx.commit().await?;
    Ok(last)
}

/// Those of these cargo that belong to the project, newest first.
pub async fn list_by_ids(
    shard: &Shard,
    project: ProjectId,
    ids: &[CargoId],
) -> Result<Vec<CargoListItem>, Error> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let (first, last) = id_bounds(&ids);
    let rows = sqlx::query_as!(
        Row,
        "select id, api_key, model, created_at, completed_at, success, callback_state,
             callback_host, held, batch
         from shard.cargo where id = any($1) and id >= $2 and id <= $3 and project = $4
         order by id desc",
        &ids,
        first,
        last,
        project.uuid()
    )
    .fetch_all(&shard.reads)
    .await?;
    with_states(shard, rows).await
}

/// Cargo without an outcome takes its status from its batch.
async fn with_states(shard: &Shard, rows: Vec<Row>) -> Result<Vec<CargoListItem>, Error> {
    let mut listed: Vec<CargoListItem> = rows.into_iter().map(CargoListItem::from).collect();
    let open = listed.iter().filter(|cargo| cargo.completed_at.is_none());
    let mut batches: Vec<Uuid> = open.filter_map(|cargo| cargo.batch).collect();
    batches.sort_unstable();
    batches.dedup();
    if batches.is_empty() {
        return Ok(listed);
    }
    let rows = sqlx::query!(
        "select id, state from shard.batch where id = any($1)",
        &batches
    )
    .fetch_all(&shard.reads)
    .await?;
    let states: HashMap<Uuid, batch::BatchState> = rows
        .into_iter()
        .filter_map(|row| Some((row.id, batch::BatchState::parse(&row.state)?)))
        .collect();
    for cargo in &mut listed {
        cargo.state = cargo.batch.and_then(|batch| states.get(&batch).copied());
    }
    Ok(listed)
}

/// The usage and charges of a page of cargo.
pub async fn list_outcome_summaries(
    shard: &Shard,
    cargo: &[CargoListItem],
) -> Result<HashMap<CargoId, OutcomeSummary>, Error> {
    let done = cargo.iter().filter(|cargo| cargo.completed_at.is_some());
    let ids: Vec<Uuid> = done.map(|cargo| cargo.id.uuid()).collect();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let (first, last) = id_bounds(&ids);
    let rows = sqlx::query!(
        r#"select cargo, input_tokens, output_tokens, charged,
               coalesce(failure_code = 'cancelled', false) as "is_cancelled!"
           from shard.outcome where cargo = any($1) and cargo >= $2 and cargo <= $3"#,
        &ids,
        first,
        last
    )
    .fetch_all(&shard.reads)
    .await?;
    let came = rows.into_iter().map(|row| {
        let came = OutcomeSummary {
            input_tokens: u64::try_from(row.input_tokens).unwrap_or_default(),
            output_tokens: u64::try_from(row.output_tokens).unwrap_or_default(),
            charged: row.charged.map_or(Money::ZERO, Money),
            is_cancelled: row.is_cancelled,
        };
        (row.cargo.into(), came)
    });
    Ok(came.collect())
}

/// The newest failures in a range of ids, of all labels or of one.
pub async fn list_failures(
    shard: &Shard,
    project: ProjectId,
    kind: FailureKind,
    label: Option<&str>,
    span: CargoIdRange,
    most: u32,
) -> Result<Vec<(CargoId, String)>, Error> {
    let Some(label) = label else {
        let rows = sqlx::query!(
            "select cargo, label from shard.trouble
             where project = $1 and kind = $2 and cargo >= $3 and cargo < $4
             order by cargo desc limit $5",
            project.uuid(),
            kind.as_str(),
            span.first,
            span.beyond,
            i64::from(most)
        );
        let rows = rows.fetch_all(&shard.reads).await?;
        return Ok(rows
            .into_iter()
            .map(|row| (row.cargo.into(), row.label))
            .collect());
    };
    let rows = sqlx::query!(
        "select cargo, label from shard.trouble
         where project = $1 and kind = $2 and label = $3 and cargo >= $4 and cargo < $5
         order by cargo desc limit $6",
        project.uuid(),
        kind.as_str(),
        label,
        span.first,
        span.beyond,
        i64::from(most)
    );
    let rows = rows.fetch_all(&shard.reads).await?;
    Ok(rows
        .into_iter()
        .map(|row| (row.cargo.into(), row.label))
        .collect())
}

/// The newest failures in a range of ids, counted by label. Reads at most `most` of them.
pub async fn group_failures(
    shard: &Shard,
    project: ProjectId,
    kind: FailureKind,
    span: CargoIdRange,
    most: u32,
) -> Result<Vec<(String, u64)>, Error> {
    let rows = sqlx::query!(
        r#"select label, count(*) as "count!" from (
               select label from shard.trouble
               where project = $1 and kind = $2 and cargo >= $3 and cargo < $4
               order by cargo desc limit $5
           ) newest
           group by label order by count(*) desc, label limit 20"#,
        project.uuid(),
        kind.as_str(),
        span.first,
        span.beyond,
        i64::from(most)
    )
    .fetch_all(&shard.reads)
    .await?;
    let groups = rows
        .into_iter()
        .map(|row| (row.label, u64::try_from(row.count).unwrap_or_default()));
    Ok(groups.collect())
}
