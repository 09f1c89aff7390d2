//! The log of callback attempts, and what each one changes.

use std::collections::{BTreeMap, HashSet};

use domain::id::{CargoId, KeyId, ProjectId};
use domain::time::Timestamp;
use domain::usage::{Counted, Event, Tally, Work};
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Delivered,
    TryAgain { due_at: Timestamp },
    GivenUp,
}

/// Writes what ended; attempts whose claim was lost are passed over, for they will be repeated.
pub async fn record(
    shard: &Shard,
    claim: Claim,
    ended: &[Ended],
    now: Timestamp,
) -> Result<u64, Error> {
    let mut alike: BTreeMap<Verdict, Vec<Uuid>> = BTreeMap::new();
    for attempt in ended {
        alike
            .entry(attempt.verdict)
            .or_default()
            .push(attempt.cargo.uuid());
    }
    let mut tx = shard.begin().await?;
    let mut ours: HashSet<Uuid> = HashSet::with_capacity(ended.len());
    let mut tally = Tally::default();
    for (verdict, cargo) in alike {
        let (state, event) = match verdict {
            Verdict::TryAgain { due_at } => {
                ours.extend(put_off(&mut tx, claim, &cargo, due_at).await?);
                continue;
            }
            Verdict::Delivered => ("delivered", Event::Delivered),
            Verdict::GivenUp => ("failed", Event::CallbackFailed),
        };
        let closed = close(&mut tx, claim, &cargo).await?;
        finish(&mut tx, &closed, state, event, &mut tally, now).await?;
        ours.extend(closed);
    }
    let ended = ended
        .iter()
        .filter(|attempt| ours.contains(&attempt.cargo.uuid()));
    log(&mut tx, Columns::of(ended)).await?;
    usage::append(&mut tx, &tally, now).await?;
    tx.commit().await?;
    Ok(u64::try_from(ours.len()).unwrap_or_default())
}

/// The claim is compared so that no index on it is used: rows are found by their cargo.
async fn close(tx: &mut Transaction<'_>, claim: Claim, cargo: &[Uuid]) -> Result<Vec<Uuid>, Error> {
    let closed = sqlx::query_scalar!(
        "delete from shard.delivery
         where cargo = any($1) and node is not distinct from $2 and epoch is not distinct from $3
         returning cargo",
        cargo,
        claim.node,
        claim.epoch
    );
    Ok(closed.fetch_all(&mut **tx).await?)
}

async fn put_off(
    tx: &mut Transaction<'_>,
    claim: Claim,
    cargo: &[Uuid],
    due_at: Timestamp,
) -> Result<Vec<Uuid>, Error> {
    let put_off = sqlx::query_scalar!(
        "update shard.delivery
         set number = number + 1, due_at = $4, node = null, epoch = null, takeovers = 0
         where cargo = any($1) and node is not distinct from $2 and epoch is not distinct from $3
         returning cargo",
        cargo,
        claim.node,
        claim.epoch,
        due_at
    );
    Ok(put_off.fetch_all(&mut **tx).await?)
}

async fn finish(
    tx: &mut Transaction<'_>,
    cargo: &[Uuid],
    state: &str,
    event: Event,
    tally: &mut Tally,
    now: Timestamp,
) -> Result<(), Error> {
    let (first, last) = bounds(cargo);
    let rows = sqlx::query!(
        "update shard.cargo set callback_state = $1, callback_ended_at = $2
         where id = any($3) and id >= $4 and id <= $5
         returning project, api_key, model",
        state,
        now,
        cargo,
        first,
        last
    )
    .fetch_all(&mut **tx)
    .await?;
    for row in rows {
        let (project, key) = (ProjectId::from(row.project), KeyId::from(row.api_key));
        let what = Counted {
            project,
            key,
            model: row.model,
            event,
        };
        tally.count(what, Work::default());
    }
    Ok(())
}

async fn log(tx: &mut Transaction<'_>, columns: Columns) -> Result<(), Error> {
    sqlx::query!(
        "insert into shard.attempt (cargo, number, started_at, ended_at, status, error, answer)
         select * from unnest($1::uuid[], $2::int2[], $3::timestamptz[], $4::timestamptz[],
             $5::int2[], $6::text[], $7::bytea[])",
        &columns.cargo,
        &columns.number,
        &columns.started_at,
        &columns.ended_at,
        &columns.status as &[Option<i16>],
        &columns.error as &[Option<String>],
        &columns.answer as &[Option<Vec<u8>>],
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
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
}

impl Columns {
    fn of<'a>(ended: impl Iterator<Item = &'a Ended>) -> Self {
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
                .push(attempt.error.as_ref().map(|error| error.replace('\0', "")));
            columns
                .answer
                .push((!attempt.answer.is_empty()).then(|| attempt.answer.clone()));
        }
        columns
    }
}
