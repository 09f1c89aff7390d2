//! One step of a resend: queues the next few callbacks and saves the position, in one transaction.

use chrono::TimeDelta;
use domain::resend;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use super::remove_erased;
use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::number::{signed, unsigned};
use crate::shard::partition;

/// Between two steps of a resend.
const STEP_INTERVAL: TimeDelta = TimeDelta::seconds(1);

/// A resend that is due, locked until the transaction ends.
struct DueResend {
    id: Uuid,
    organization: Uuid,
    project: Uuid,
    host: String,
    first: Uuid,
    last: Uuid,
    position: Option<Uuid>,
    sent: i64,
    per_second: i32,
}

impl DueResend {
    /// The last id that is already processed.
    fn after(&self) -> Uuid {
        let before_first = Uuid::from_u128(self.first.as_u128().saturating_sub(1));
        self.position.unwrap_or(before_first)
    }
}

/// Runs the next step of a resend that is due; returns how many callbacks it processed. None:
/// nothing is due.
pub async fn step(shard: &Shard, now: Timestamp) -> Result<Option<usize>, Error> {
    // A cheap read first, instead of a transaction each time.
    let due = sqlx::query_scalar!(
        r#"select exists (select from shard.resend where state = 'running' and next_at <= $1)
               as "due!""#,
        now
    );
    if !due.fetch_one(&shard.pool).await? {
        return Ok(None);
    }
    let mut tx = shard.begin().await?;
    partition::lock_days(&mut tx).await?;
    let Some(due) = lock_due(&mut tx, now).await? else {
        return Ok(None);
    };
    let per_second = u32::try_from(due.per_second).unwrap_or(1);
    let most = resend::next_second_count(unsigned(due.sent), per_second);
    let sent = queue_next(&mut tx, &due, most, now).await?;
    remove_erased(&mut tx, &sent).await?;
    let count = u64::try_from(sent.len()).unwrap_or_default();
    sqlx::query!(
        "update shard.resend set position = coalesce($2, position), sent = sent + $3, next_at = $4,
             state = case when $5 then 'done' else state end,
             ended_at = case when $5 then $6::timestamptz end
         where id = $1",
        due.id,
        sent.last().copied(),
        signed(count),
        now + STEP_INTERVAL,
        count < u64::from(most),
        now
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(Some(sent.len()))
}

async fn lock_due(tx: &mut Transaction, now: Timestamp) -> Result<Option<DueResend>, Error> {
    let due = sqlx::query_as!(
        DueResend,
        "select id, organization, project, host, first, last, position, sent, per_second
         from shard.resend where state = 'running' and next_at <= $1
         order by next_at limit 1 for update skip locked",
        now
    );
    Ok(due.fetch_optional(&mut **tx).await?)
}

/// A callback that is already queued stays as it is, and counts as sent.
async fn queue_next(
    tx: &mut Transaction,
    due: &DueResend,
    most: u32,
    now: Timestamp,
) -> Result<Vec<Uuid>, Error> {
    let sent = sqlx::query_scalar!(
        r#"with next as (
               select cargo from shard.trouble
               where project = $1 and kind = 'callback_failed' and label = $2
                   and cargo > $3 and cargo <= $4
               order by cargo limit $5
           ), queued as (
               insert into shard.delivery (cargo, organization, host, number, due_at, resend)
               select cargo, $6, $2, (
                       select coalesce(max(a.number), 0) + 1 from shard.attempt a
                       where a.cargo = next.cargo
                   ), $7, true
               from next
               -- A day that is being dropped loses its outcomes first.
               where exists (select from shard.outcome o where o.cargo = next.cargo)
               order by cargo
               on conflict (cargo) do nothing
           )
           select cargo from next order by cargo"#,
        due.project,
        due.host,
        due.after(),
        due.last,
        i64::from(most),
        due.organization,
        now
    );
    Ok(sent.fetch_all(&mut **tx).await?)
}
