//! The rows of attempts.

use domain::callback_health::Tally;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use super::Ended;
use crate::Error;
use crate::Transaction;
use crate::shard::callback_health::Delta;

/// Writes the attempts down, and with them how they add to the health of their hosts.
pub(super) async fn log(
    tx: &mut Transaction,
    ended: &[&Ended],
    health: &Tally,
    now: Timestamp,
) -> Result<(), Error> {
    if ended.is_empty() {
        return Ok(());
    }
    let columns = Columns::of(ended);
    let delta = Delta::of(health, now);
    sqlx::query!(
        "with logged as (
             insert into shard.attempt (cargo, number, started_at, ended_at, status, error, answer)
             select * from unnest($1::uuid[], $2::int2[], $3::timestamptz[], $4::timestamptz[],
                 $5::int2[], $6::text[], $7::bytea[])
         )
         insert into shard.callback_delta (hour, project, host, ending, class, count)
         values ($8, $9, $10, $11, $12, $13)",
        &columns.cargo,
        &columns.number,
        &columns.started_at,
        &columns.ended_at,
        &columns.status as &[Option<i16>],
        &columns.error as &[Option<String>],
        &columns.answer as &[Option<Vec<u8>>],
        delta.hour,
        &delta.project,
        &delta.host,
        &delta.ending,
        &delta.class,
        &delta.count,
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
    fn of(ended: &[&Ended]) -> Self {
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
