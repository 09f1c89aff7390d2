//! Everything about one cargo, for the caller who asks.

use domain::batch;
use domain::cargo::{CallbackState, Status};
use domain::id::{CargoId, ProjectId};
use domain::model::Kind;
use domain::money::Money;
use domain::outcome::Usage;
use domain::route::Via;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::body;

#[derive(Debug)]
pub struct Tracked {
    pub status: Status,
    pub model: String,
    pub kind: Kind,
    pub attempt: u32,
    pub created_at: Timestamp,
    pub batched_at: Option<Timestamp>,
    pub processing_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub held: Money,
    pub outcome: Option<StoredOutcome>,
    pub callback: Option<Callback>,
    pub next_poll_at: Option<Timestamp>,
    pub way: Way,
    pub metadata: Option<Vec<u8>>,
}

/// What is known of the way that it is on.
#[derive(Debug)]
pub struct Way {
    pub via: Via,
    /// Why its provider takes nothing for now, and since when.
    pub paused: Option<(String, Timestamp)>,
    /// The provider may have its batch: it is looked for.
    pub is_looked_for: bool,
    /// How long batches of its lane took lately.
    pub turnaround: Option<f64>,
}

#[derive(Debug)]
pub struct StoredOutcome {
    pub success: bool,
    pub body: Vec<u8>,
    pub usage: Usage,
    pub charged: Money,
    /// Nothing where it failed, was free, or no realtime price was known.
    pub realtime: Option<Money>,
}

#[derive(Debug)]
pub struct Callback {
    pub url: String,
    pub attempts: u32,
    pub last_attempt_at: Option<Timestamp>,
    pub last_status_code: Option<u16>,
    pub last_error: Option<String>,
    pub next_attempt_at: Option<Timestamp>,
    pub delivered_at: Option<Timestamp>,
}

/// The record of a cargo, if it is the project's.
pub async fn find(
    shard: &Shard,
    project: ProjectId,
    cargo: CargoId,
) -> Result<Option<Tracked>, Error> {
    let row = sqlx::query!(
        r#"select c.model, l.kind, l.via, l.turnaround_seconds, p.reason as "paused?", p.paused_at,
               (b.state = 'submitting' and b.looks > 0) as is_looked_for, c.attempt, c.created_at, c.completed_at, c.callback_url,
               c.callback_state, c.callback_ended_at, c.held,
               b.state as "batch_state?", b.gathered_at as "gathered_at?", b.running_at,
               b.next_poll_at, r.metadata,
               o.success as "success?", o.codec as "codec?", o.body as "body?",
               o.input_tokens as "input_tokens?", o.output_tokens as "output_tokens?",
               o.charged, o.realtime,
               d.due_at as "due_at?",
               a.number as "number?", a.started_at as "started_at?", a.status, a.error
           from shard.cargo c
           join shard.lane l on l.id = c.lane
           left join shard.provider p on p.name = l.provider and p.paused_at is not null
           join shard.request r on r.cargo = $1
           left join shard.batch b on b.id = c.batch
           left join shard.outcome o on o.cargo = $1
           left join shard.delivery d on d.cargo = $1
           left join lateral (
               select number, started_at, status, error from shard.attempt
               where cargo = $1 order by number desc limit 1
           ) a on true
           where c.id = $1 and c.project = $2"#,
        cargo.uuid(),
        project.uuid()
    )
    .fetch_optional(&shard.pool)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let batch_state = row.batch_state.as_deref().map(batch_state).transpose()?;
    let callback_state = callback_state(&row.callback_state);
    let outcome = match (row.success, row.codec, row.body) {
        (Some(success), Some(codec), Some(bytes)) => Some(StoredOutcome {
            success,
            body: body::unpack(codec, bytes, "outcome")?,
            usage: Usage {
                input_tokens: unsigned(row.input_tokens),
                output_tokens: unsigned(row.output_tokens),
            },
            charged: row.charged.map_or(Money::ZERO, Money),
            realtime: row.realtime.map(Money),
        }),
        _ => None,
    };
    let delivered = callback_state == CallbackState::Delivered;
    let callback = row.callback_url.map(|url| Callback {
        url,
        attempts: row
            .number
            .and_then(|number| u32::try_from(number).ok())
            .unwrap_or(0),
        last_attempt_at: row.started_at,
        last_status_code: row.status.and_then(|status| u16::try_from(status).ok()),
        last_error: row.error,
        next_attempt_at: row.due_at,
        delivered_at: row.callback_ended_at.filter(|_| delivered),
    });
    Ok(Some(Tracked {
        status: Status::read(batch_state, row.completed_at.map(|_| callback_state)),
        model: row.model,
        kind: Kind::parse(&row.kind).ok_or(corrupt("lane", "kind"))?,
        attempt: u32::try_from(row.attempt).unwrap_or(1),
        created_at: row.created_at,
        batched_at: row.gathered_at,
        processing_at: row.running_at,
        completed_at: row.completed_at,
        held: row.held.map_or(Money::ZERO, Money),
        outcome,
        callback,
        next_poll_at: row.next_poll_at,
        way: Way {
            via: Via::parse(&row.via).ok_or(corrupt("lane", "via"))?,
            paused: row.paused.zip(row.paused_at),
            is_looked_for: row.is_looked_for.unwrap_or_default(),
            turnaround: row.turnaround_seconds,
        },
        metadata: row.metadata,
    }))
}

fn batch_state(text: &str) -> Result<batch::State, Error> {
    batch::State::parse(text).ok_or(corrupt("batch", "state"))
}

fn callback_state(text: &str) -> CallbackState {
    match text {
        "delivered" => CallbackState::Delivered,
        "failed" => CallbackState::Failed,
        _ => CallbackState::Open,
    }
}

/// The first cargo at or after an id, and whose it is.
pub async fn at_or_after(shard: &Shard, id: Uuid) -> Result<Option<(CargoId, ProjectId)>, Error> {
    let row = sqlx::query!(
        "select id, project from shard.cargo where id >= $1 order by id limit 1",
        id
    )
    .fetch_optional(&shard.pool)
    .await?;
    Ok(row.map(|row| (row.id.into(), row.project.into())))
}

fn unsigned(count: Option<i64>) -> u64 {
    count
        .and_then(|count| u64::try_from(count).ok())
        .unwrap_or_default()
}

const fn corrupt(table: &'static str, column: &'static str) -> Error {
    Error::Corrupt { table, column }
}
