//! The log of callback attempts, and what each one changes.

use domain::id::{CargoId, KeyId, ProjectId};
use domain::outcome::Usage;
use domain::time::Timestamp;
use domain::usage::{Counted, Event, Tally};
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::shard::node::Claim;
use crate::shard::usage;
use crate::shard::waiting::bounds;

/// An attempt that ended.
#[derive(Debug, Clone)]
pub struct Ended {
    pub cargo: CargoId,
    pub number: u32,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    pub status: Option<u16>,
    pub error: Option<String>,
    pub answer: Vec<u8>,
    pub verdict: Verdict,
}

/// What an attempt comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Delivered,
    TryAgain { due_at: Timestamp },
    GivenUp,
}

impl Verdict {
    const fn state(self) -> Option<&'static str> {
        match self {
            Self::Delivered => Some("delivered"),
            Self::TryAgain { .. } => None,
            Self::GivenUp => Some("failed"),
        }
    }

    const fn due_at(self) -> Option<Timestamp> {
        match self {
            Self::TryAgain { due_at } => Some(due_at),
            Self::Delivered | Self::GivenUp => None,
        }
    }
}

/// Writes what ended; attempts whose claim was lost are passed over, for they will be repeated.
pub async fn record(
    shard: &Shard,
    claim: Claim,
    ended: Vec<Ended>,
    now: Timestamp,
) -> Result<u64, Error> {
    let columns = Columns::of(ended);
    let (first, last) = bounds(&columns.cargo);
    let mut tx = shard.begin().await?;
    let rows = sqlx::query!(
        r#"with ended as materialized (
               select * from unnest($1::uuid[], $2::int2[], $3::timestamptz[], $4::timestamptz[],
                   $5::int2[], $6::text[], $7::bytea[], $8::text[], $9::timestamptz[])
               as ended (cargo, number, started_at, ended_at, status, error, answer, state, due_at)
           ), closed as (
               delete from shard.delivery d using ended
               where ended.state is not null and d.cargo = ended.cargo
                   and d.number = ended.number and d.node = $10 and d.epoch = $11
               returning d.cargo
           ), again as (
               update shard.delivery d set number = d.number + 1, due_at = ended.due_at,
                   node = null, epoch = null, takeovers = 0
               from ended
               where ended.state is null and d.cargo = ended.cargo
                   and d.number = ended.number and d.node = $10 and d.epoch = $11
               returning d.cargo
           ), logged as (
               insert into shard.attempt (cargo, number, started_at, ended_at, status, error, answer)
               select cargo, number, started_at, ended_at, status, error, answer from ended
               where cargo in (select cargo from closed union all select cargo from again)
           )
           update shard.cargo c set callback_state = ended.state, callback_ended_at = ended.ended_at
           from ended join closed on closed.cargo = ended.cargo
           where c.id = ended.cargo and c.id >= $12 and c.id <= $13
           returning c.project, c.api_key, c.model, c.callback_state"#,
        &columns.cargo,
        &columns.number,
        &columns.started_at,
        &columns.ended_at,
        &columns.status as &[Option<i16>],
        &columns.error as &[Option<String>],
        &columns.answer as &[Option<Vec<u8>>],
        &columns.state as &[Option<&'static str>],
        &columns.due_at as &[Option<Timestamp>],
        claim.node,
        claim.epoch,
        first,
        last
    )
    .fetch_all(&mut *tx)
    .await?;
    let mut tally = Tally::default();
    for row in &rows {
        let (project, key) = (ProjectId::from(row.project), KeyId::from(row.api_key));
        let delivered = row.callback_state == "delivered";
        let event = if delivered {
            Event::Delivered
        } else {
            Event::CallbackFailed
        };
        tally.count(
            Counted {
                project,
                key,
                model: row.model.clone(),
                event,
            },
            Usage::default(),
        );
    }
    usage::append(&mut tx, &tally, now).await?;
    tx.commit().await?;
    Ok(u64::try_from(rows.len()).unwrap_or_default())
}

#[derive(Default)]
struct Columns {
    cargo: Vec<Uuid>,
    number: Vec<i16>,
    started_at: Vec<Timestamp>,
    ended_at: Vec<Timestamp>,
    status: Vec<Option<i16>>,
    error: Vec<Option<String>>,
    answer: Vec<Option<Vec<u8>>>,
    state: Vec<Option<&'static str>>,
    due_at: Vec<Option<Timestamp>>,
}

impl Columns {
    fn of(ended: Vec<Ended>) -> Self {
        let mut columns = Self::default();
        for attempt in ended {
            columns.cargo.push(attempt.cargo.uuid());
            columns
                .number
                .push(i16::try_from(attempt.number).unwrap_or(i16::MAX));
            columns.started_at.push(attempt.started_at);
            columns.ended_at.push(attempt.ended_at);
            columns
                .status
                .push(attempt.status.and_then(|status| i16::try_from(status).ok()));
            columns
                .error
                .push(attempt.error.map(|error| error.replace('\0', "")));
            columns
                .answer
                .push((!attempt.answer.is_empty()).then_some(attempt.answer));
            columns.state.push(attempt.verdict.state());
            columns.due_at.push(attempt.verdict.due_at());
        }
        columns
    }
}
