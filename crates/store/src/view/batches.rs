//! The batches page: a project's share of each batch. Of other projects it shows only the total.

use domain::batch::{BatchState, SubmissionDelay};
use domain::id::{BatchId, CargoId, ProjectId};
use domain::route::InferenceMode;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::number::unsigned;
use crate::shard::cargo_id_range::CargoIdRange;

/// A batch that carries cargo of the project.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectBatch {
    pub id: BatchId,
    pub model: String,
    pub provider: String,
    pub via: InferenceMode,
    pub state: BatchState,
    pub gathered_at: Timestamp,
    pub submitting_at: Option<Timestamp>,
    pub running_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub delay: Option<SubmissionDelay>,
    pub cancel_wanted_at: Option<Timestamp>,
    pub cancelled_at: Option<Timestamp>,
    /// How long recent batches of its lane took.
    pub turnaround_seconds: Option<f64>,
    /// The counts of the project's cargo.
    pub cargo: u64,
    pub succeeded: u64,
    pub failed: u64,
}

struct Row {
    id: Uuid,
    model: String,
    provider: String,
    via: String,
    state: String,
    gathered_at: Timestamp,
    submitting_at: Option<Timestamp>,
    running_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    delay: Option<String>,
    cancel_wanted_at: Option<Timestamp>,
    cancelled_at: Option<Timestamp>,
    turnaround_seconds: Option<f64>,
    cargo: i32,
    succeeded: i32,
    failed: i32,
}

impl TryFrom<Row> for ProjectBatch {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let corrupt = |table, column| Error::Corrupt { table, column };
        let delay = row.delay.as_deref().map(|delay| {
            let delay = SubmissionDelay::parse(delay);
            delay.ok_or(corrupt("batch", "delay"))
        });
        Ok(Self {
            id: row.id.into(),
            model: row.model,
            provider: row.provider,
            via: InferenceMode::parse(&row.via).ok_or(corrupt("lane", "via"))?,
            state: BatchState::parse(&row.state).ok_or(corrupt("batch", "state"))?,
            gathered_at: row.gathered_at,
            submitting_at: row.submitting_at,
            running_at: row.running_at,
            ended_at: row.ended_at,
            delay: delay.transpose()?,
            cancel_wanted_at: row.cancel_wanted_at,
            cancelled_at: row.cancelled_at,
            turnaround_seconds: row.turnaround_seconds,
            cargo: unsigned(row.cargo.into()),
            succeeded: unsigned(row.succeeded.into()),
            failed: unsigned(row.failed.into()),
        })
    }
}

/// Newest first, older than `before`.
pub async fn list(
    shard: &Shard,
    project: ProjectId,
    before: Option<BatchId>,
    limit: u32,
) -> Result<Vec<ProjectBatch>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"select b.id, l.model, l.provider, l.via, b.state, b.gathered_at, b.submitting_at,
               b.running_at, b.ended_at, b.delay, b.cancel_wanted_at, b.cancelled_at,
               l.turnaround_seconds, s.cargo, s.succeeded, s.failed
           from shard.share s join shard.batch b on b.id = s.batch
               join shard.lane l on l.id = b.lane
           where s.project = $1 and ($2::uuid is null or s.batch < $2)
           order by s.batch desc limit $3"#,
        project.uuid(),
        before.map(BatchId::uuid),
        i64::from(limit)
    )
    .fetch_all(&shard.reads)
    .await?;
    rows.into_iter().map(ProjectBatch::try_from).collect()
}

/// What only the page of one batch shows.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectBatchDetail {
    pub batch: ProjectBatch,
    /// The provider's id of the job.
    pub job: Option<String>,
    pub next_poll_at: Option<Timestamp>,
    pub sent_at: Option<Timestamp>,
    pub tokens: u64,
    /// All cargo in the batch, of every project.
    pub total: u64,
}

pub async fn find(
    shard: &Shard,
    project: ProjectId,
    id: BatchId,
) -> Result<Option<ProjectBatchDetail>, Error> {
    let row = sqlx::query!(
        r#"select b.id, l.model, l.provider, l.via, b.state, b.gathered_at, b.submitting_at,
               b.running_at, b.ended_at, b.delay, b.cancel_wanted_at, b.cancelled_at,
               l.turnaround_seconds, s.cargo, s.succeeded, s.failed, b.job, b.next_poll_at,
               b.sent_at, b.tokens, coalesce(array_length(b.cargo, 1), 0) as "total!"
           from shard.share s join shard.batch b on b.id = s.batch
               join shard.lane l on l.id = b.lane
           where s.project = $1 and s.batch = $2"#,
        project.uuid(),
        id.uuid()
    )
    .fetch_optional(&shard.reads)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let batch = Row {
        id: row.id,
        model: row.model,
        provider: row.provider,
        via: row.via,
        state: row.state,
        gathered_at: row.gathered_at,
        submitting_at: row.submitting_at,
        running_at: row.running_at,
        ended_at: row.ended_at,
        delay: row.delay,
        cancel_wanted_at: row.cancel_wanted_at,
        cancelled_at: row.cancelled_at,
        turnaround_seconds: row.turnaround_seconds,
        cargo: row.cargo,
        succeeded: row.succeeded,
        failed: row.failed,
    };
    Ok(Some(ProjectBatchDetail {
        batch: batch.try_into()?,
        job: row.job,
        next_poll_at: row.next_poll_at,
        sent_at: row.sent_at,
        tokens: unsigned(row.tokens),
        total: unsigned(row.total.into()),
    }))
}

/// A cargo of the project that the batch was gathered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectBatchCargo {
    /// Its position in the batch, from 1.
    pub position: u64,
    pub id: CargoId,
    pub created_at: Timestamp,
    pub completed_at: Option<Timestamp>,
    pub success: Option<bool>,
    /// It was queued again, and may be in another batch.
    pub has_left: bool,
    /// The caller cancelled it. It is not among the failed.
    pub is_cancelled: bool,
}

/// The project's cargo in the order of the batch. Reads `looked_at` positions from `first` on.
pub async fn list_cargo(
    shard: &Shard,
    project: ProjectId,
    id: BatchId,
    first: u32,
    looked_at: u32,
) -> Result<Vec<ProjectBatchCargo>, Error> {
    let first = i32::try_from(first.max(1)).unwrap_or(i32::MAX);
    let last = first.saturating_add(i32::try_from(looked_at).unwrap_or(i32::MAX) - 1);
    let rows = sqlx::query!(
        r#"select m.place as "place!", c.id, c.created_at, c.completed_at, c.success,
               c.batch is distinct from $1 as "has_left!",
               -- Only cargo that its caller asked to cancel has an outcome to look at.
               c.cancel_requested_at is not null and c.success is false and exists (
                   select from shard.outcome o
                   where o.cargo = m.id and o.failure_code = 'cancelled'
               ) as "is_cancelled!"
           from unnest((select cargo[$3::integer : $4::integer] from shard.batch where id = $1))
                   with ordinality as m (id, place)
               join shard.cargo c on c.id = m.id
           where c.project = $2
           order by m.place"#,
        id.uuid(),
        project.uuid(),
        first,
        last
    )
    .fetch_all(&shard.reads)
    .await?;
    let members = rows.into_iter().map(|row| ProjectBatchCargo {
        position: unsigned(row.place + i64::from(first) - 1),
        id: row.id.into(),
        created_at: row.created_at,
        completed_at: row.completed_at,
        success: row.success,
        has_left: row.has_left,
        is_cancelled: row.is_cancelled,
    });
    Ok(members.collect())
}

/// Failures with the same label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchFailureGroup {
    pub label: String,
    pub count: u64,
    /// The newest of them.
    pub cargo: CargoId,
}

/// The project's failures in a batch, the most frequent first. Reads the newest `looked_at`
/// failures of cargo with ids in this range.
pub async fn group_failures(
    shard: &Shard,
    project: ProjectId,
    id: BatchId,
    ids: CargoIdRange,
    looked_at: u32,
) -> Result<Vec<BatchFailureGroup>, Error> {
    let rows = sqlx::query!(
        r#"select t.label as "label!", count(*) as "count!",
               (array_agg(c.id order by c.id desc))[1] as "cargo!"
           from (select cargo, label from shard.trouble
                 where project = $1 and kind = 'failed' and cargo >= $3 and cargo < $4
                 order by cargo desc limit $5) t
               join shard.cargo c on c.id = t.cargo and c.id >= $3 and c.id < $4
           where c.batch = $2
           group by 1 order by 2 desc, 1 limit 20"#,
        project.uuid(),
        id.uuid(),
        ids.first,
        ids.beyond,
        i64::from(looked_at)
    )
    .fetch_all(&shard.reads)
    .await?;
    let failures = rows.into_iter().map(|row| BatchFailureGroup {
        label: row.label,
        count: unsigned(row.count),
        cargo: row.cargo.into(),
    });
    Ok(failures.collect())
}
