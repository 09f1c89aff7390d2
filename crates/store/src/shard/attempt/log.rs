//! The rows of attempts.

use domain::callback_health::CallbackTally;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use super::EndedAttempt;
use crate::Error;
use crate::Transaction;
use crate::encryption::{ContentKind, ValueIdentity, WriteKeys};
use crate::shard::callback_health::CallbackDelta;
use crate::shard::waiting::id_bounds;

/// Writes the attempts, and adds them to the health counts of their hosts.
pub(super) async fn log(
    tx: &mut Transaction,
    ended: &[&EndedAttempt],
    keys: &WriteKeys,
    health: &CallbackTally,
    now: Timestamp,
) -> Result<(), Error> {
    if ended.is_empty() {
        return Ok(());
    }
    let columns = Columns::of(ended, keys);
    let (first, last) = id_bounds(&columns.cargo);
    let delta = CallbackDelta::of(health, now);
    sqlx::query!(
        "with logged as (
             insert into shard.attempt
                 (cargo, number, started_at, ended_at, status, error, answer, encrypted, resend)
             select entry.cargo,
                 -- A resend is numbered here. Its delivery was closed by this transaction, so all
                 -- attempts before it are committed. When it was queued, one may have been on its way.
                 case when entry.is_resend then (
                     select coalesce(max(a.number), 0) + 1 from shard.attempt a
                     where a.cargo = entry.cargo and a.cargo >= $16 and a.cargo <= $17
                 )::int2 else entry.number end,
                 entry.started_at, entry.ended_at, entry.status, entry.error, entry.answer,
                 entry.encrypted, entry.is_resend
             from unnest($1::uuid[], $2::int2[], $3::bool[], $4::timestamptz[],
                 $5::timestamptz[], $6::int2[], $7::text[], $8::bytea[], $15::bool[])
                 as entry (cargo, number, is_resend, started_at, ended_at, status, error, answer,
                     encrypted)
             on conflict (cargo, number) do nothing
         )
         insert into shard.callback_delta (hour, project, host, ending, class, count)
         values ($9, $10, $11, $12, $13, $14)",
        &columns.cargo,
        &columns.number,
        &columns.is_resend,
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
        &columns.encrypted,
        first,
        last
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

#[derive(Default)]
struct Columns {
    cargo: Vec<Uuid>,
    number: Vec<i16>,
    is_resend: Vec<bool>,
    started_at: Vec<Timestamp>,
    ended_at: Vec<Timestamp>,
    status: Vec<Option<i16>>,
    error: Vec<Option<String>>,
    answer: Vec<Option<Vec<u8>>>,
    encrypted: Vec<bool>,
}

impl Columns {
    fn of(ended: &[&EndedAttempt], keys: &WriteKeys) -> Self {
        let mut columns = Self::default();
        for attempt in ended {
            columns.cargo.push(attempt.cargo.uuid());
            columns
                .number
                .push(i16::try_from(attempt.number).unwrap_or(i16::MAX));
            columns.is_resend.push(attempt.result.is_resend());
            columns.started_at.push(attempt.started_at);
            columns.ended_at.push(attempt.ended_at);
            columns
                .status
                .push(attempt.status.and_then(|status| i16::try_from(status).ok()));
            columns
                .error
                .push(attempt.error.as_ref().map(|error| error.replace('\0', "")));
            let (answer, is_encrypted) = stored_answer(attempt, keys).unzip();
            columns.answer.push(answer);
            columns.encrypted.push(is_encrypted.unwrap_or_default());
        }
        columns
    }
}

/// The answer as it is stored, and whether it is encrypted. None if there is none, or if its key is
/// unavailable: the POST was made, and its record does not wait.
fn stored_answer(attempt: &EndedAttempt, keys: &WriteKeys) -> Option<(Vec<u8>, bool)> {
    let project = attempt.project.filter(|_| !attempt.answer.is_empty())?;
    let key = keys.find(project).ok()?;
    let identity = ValueIdentity {
        project,
        row: attempt.cargo.uuid(),
        kind: ContentKind::CallbackAnswer,
    };
    let answer = key.encrypt(identity, attempt.answer.clone()).ok()?;
    Some((answer, !key.is_plain()))
}
