//! Bulk resends: the failed callbacks of one host, ordered by cargo id.

use domain::id::{OrganizationId, ProjectId, ResendId};
use domain::resend;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::number::unsigned;

/// Per page.
const MAX_LISTED_RESENDS: i64 = 100;

/// A resend to start.
#[derive(Debug, Clone)]
pub struct NewResend {
    pub id: ResendId,
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub host: String,
    /// The range of cargo ids, both included.
    pub first: Uuid,
    pub last: Uuid,
    pub per_second: u32,
    /// Who started it, for display.
    pub started_by: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResendState {
    Running,
    Stopped,
    Done,
}

impl ResendState {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "running" => Some(Self::Running),
            "stopped" => Some(Self::Stopped),
            "done" => Some(Self::Done),
            _ => None,
        }
    }
}

/// The progress of a resend, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resend {
    pub id: ResendId,
    pub host: String,
    pub first: Uuid,
    pub last: Uuid,
    /// How many callbacks there were at the start, and how many were processed.
    pub total: u64,
    pub sent: u64,
    pub per_second: u32,
    pub state: ResendState,
    pub started_by: String,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

/// The result of stopping a resend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResendStop {
    /// No further callbacks are queued; those that are queued are still sent.
    Stopped,
    AlreadyEnded,
    NotFound,
}

/// How many callbacks of a project failed in this range of ids, at one host or at all.
pub async fn count_failed(
    shard: &Shard,
    project: ProjectId,
    host: Option<&str>,
    first: Uuid,
    last: Uuid,
) -> Result<u64, Error> {
    let count = sqlx::query_scalar!(
        r#"select count(*) as "count!" from shard.trouble
           where project = $1 and kind = 'callback_failed' and ($2::text is null or label = $2)
               and cargo >= $3 and cargo <= $4"#,
        project.uuid(),
        host,
        first,
        last
    );
    Ok(unsigned(count.fetch_one(&shard.pool).await?))
}

/// Starts a resend; returns how many callbacks it covers.
///
/// If a running resend covers the same callbacks, no second one is started, so a double click
/// sends nothing twice.
pub async fn start(shard: &Shard, new: &NewResend, now: Timestamp) -> Result<u64, Error> {
    let mut tx = shard.begin().await?;
    let lock = format!("longshore.resend {} {}", new.project.uuid(), new.host);
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended($1, 0)) as locked",
        lock
    )
    .fetch_one(&mut *tx)
    .await?;
    let running = sqlx::query_scalar!(
        "select total from shard.resend
         where project = $1 and host = $2 and state = 'running' and first <= $3 and last >= $4
         limit 1",
        new.project.uuid(),
        new.host,
        new.first,
        new.last
    )
    .fetch_optional(&mut *tx)
    .await?;
    if let Some(total) = running {
        tx.rollback().await?;
        return Ok(unsigned(total));
    }
    let total = sqlx::query_scalar!(
        "insert into shard.resend (id, organization, project, host, first, last, total, per_second,
             next_at, started_by, started_at)
         select $1, $2, $3, $4, $5, $6, count(*), $7, $8, $9, $8 from shard.trouble
         where project = $3 and kind = 'callback_failed' and label = $4
             and cargo >= $5 and cargo <= $6
         returning total",
        new.id.uuid(),
        new.organization.uuid(),
        new.project.uuid(),
        new.host,
        new.first,
        new.last,
        i32::try_from(new.per_second.clamp(1, resend::MAX_RESENDS_PER_SECOND)).unwrap_or(1),
        now,
        new.started_by
    )
    .fetch_one(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(unsigned(total))
}

/// Stops a resend before its next step.
pub async fn stop(
    shard: &Shard,
    project: ProjectId,
    id: ResendId,
    now: Timestamp,
) -> Result<ResendStop, Error> {
    let state = sqlx::query_scalar!(
        r#"with stopped as (
               update shard.resend set state = 'stopped', ended_at = $3
               where id = $1 and project = $2 and state = 'running'
               returning id
           )
           select exists (select from stopped) as "is_stopped!" from shard.resend
           where id = $1 and project = $2"#,
        id.uuid(),
        project.uuid(),
        now
    )
    .fetch_optional(&shard.pool)
    .await?;
    Ok(match state {
        Some(true) => ResendStop::Stopped,
        Some(false) => ResendStop::AlreadyEnded,
        None => ResendStop::NotFound,
    })
}

/// The resends of a project, newest first.
pub async fn list(shard: &Shard, project: ProjectId) -> Result<Vec<Resend>, Error> {
    let rows = sqlx::query!(
        "select id, host, first, last, total, sent, per_second, state, started_by, started_at,
             ended_at
         from shard.resend where project = $1 order by id desc limit $2",
        project.uuid(),
        MAX_LISTED_RESENDS
    )
    .fetch_all(&shard.pool)
    .await?;
    let resends = rows.into_iter().map(|row| {
        Ok(Resend {
            id: row.id.into(),
            host: row.host,
            first: row.first,
            last: row.last,
            total: unsigned(row.total),
            sent: unsigned(row.sent),
            per_second: u32::try_from(row.per_second).unwrap_or(1),
            state: ResendState::parse(&row.state).ok_or(Error::Corrupt {
                table: "resend",
                column: "state",
            })?,
            started_by: row.started_by,
            started_at: row.started_at,
            ended_at: row.ended_at,
        })
    });
    resends.collect()
}
