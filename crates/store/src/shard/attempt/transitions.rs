//! How a delivery and its cargo change when an attempt has ended.

use std::collections::HashMap;

use domain::id::{ApiKeyId, ProjectId};
use domain::time::Timestamp;
use domain::usage::{UsageEvent, UsageKey};
use sqlx::types::Uuid;

use super::RecordedCallback;
use crate::Error;
use crate::Transaction;
use crate::shard::node::Claim;
use crate::shard::waiting::id_bounds;

/// Compares the claim with `is not distinct from`, so that no index on it is used: rows are
/// found by their cargo.
async fn close(
    tx: &mut Transaction,
    claim: Claim,
    cargo: &[Uuid],
) -> Result<HashMap<Uuid, String>, Error> {
    let closed = sqlx::query!(
        "delete from shard.delivery
         where cargo = any($1) and node is not distinct from $2 and epoch is not distinct from $3
         returning cargo, host",
        cargo,
        claim.node,
        claim.epoch
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(closed
        .into_iter()
        .map(|row| (row.cargo, row.host))
        .collect())
}

/// Schedules the next attempt at `due_at`.
pub(super) async fn schedule_retry(
    tx: &mut Transaction,
    claim: Claim,
    cargo: &[Uuid],
    due_at: Timestamp,
) -> Result<Vec<RecordedCallback>, Error> {
    let (first, last) = id_bounds(cargo);
    let rows = sqlx::query!(
        "with put_off as (
             update shard.delivery
             set number = number + 1, due_at = $4, node = null, epoch = null, takeovers = 0
             where cargo = any($1)
                 and node is not distinct from $2 and epoch is not distinct from $3
             returning cargo, host
         )
         select put_off.cargo, put_off.host, c.project
         from put_off join shard.cargo c on c.id = put_off.cargo
         where c.id = any($1) and c.id >= $5 and c.id <= $6",
        cargo,
        claim.node,
        claim.epoch,
        due_at,
        first,
        last
    )
    .fetch_all(&mut **tx)
    .await?;
    let put_off = rows.into_iter().map(|row| RecordedCallback {
        cargo: row.cargo,
        project: row.project,
        host: row.host,
        usage_key: None,
        has_zero_retention: false,
    });
    Ok(put_off.collect())
}

/// The state of a callback that has ended, and the event that is counted for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallbackEnd {
    pub(super) state: &'static str,
    pub(super) event: UsageEvent,
}

/// The callback was delivered, or it failed for good.
pub(super) async fn end_callback(
    tx: &mut Transaction,
    claim: Claim,
    cargo: &[Uuid],
    end: CallbackEnd,
    now: Timestamp,
) -> Result<Vec<RecordedCallback>, Error> {
    let mut hosts = close(tx, claim, cargo).await?;
    let closed: Vec<Uuid> = hosts.keys().copied().collect();
    let (first, last) = id_bounds(&closed);
    let rows = sqlx::query!(
        r#"update shard.cargo c set callback_state = $1, callback_ended_at = $2
           where c.id = any($3) and c.id >= $4 and c.id <= $5
           returning c.id, c.project, c.api_key, c.model, exists (
               select from shard.retention r where r.project = c.project and r.days = 0
           ) as "has_zero_retention!""#,
        end.state,
        now,
        &closed,
        first,
        last
    )
    .fetch_all(&mut **tx)
    .await?;
    let ended = rows.into_iter().map(|row| RecordedCallback {
        cargo: row.id,
        project: row.project,
        host: hosts.remove(&row.id).unwrap_or_default(),
        usage_key: Some(usage_key(row.project, row.api_key, row.model, end.event)),
        has_zero_retention: row.has_zero_retention,
    });
    Ok(ended.collect())
}

/// The callback was delivered by a resend, from any earlier state.
pub(super) async fn record_redelivery(
    tx: &mut Transaction,
    claim: Claim,
    cargo: &[Uuid],
    now: Timestamp,
) -> Result<Vec<RecordedCallback>, Error> {
    let mut hosts = close(tx, claim, cargo).await?;
    let closed: Vec<Uuid> = hosts.keys().copied().collect();
    let (first, last) = id_bounds(&closed);
    let rows = sqlx::query!(
        r#"update shard.cargo c set callback_state = 'delivered', callback_ended_at = $1
           from (select id, callback_state from shard.cargo
                 where id = any($2) and id >= $3 and id <= $4 for no key update) before
           where c.id = before.id and c.id >= $3 and c.id <= $4
           returning c.id, c.project, c.api_key, c.model,
               before.callback_state <> 'delivered' as "is_news!", exists (
                   select from shard.retention r where r.project = c.project and r.days = 0
               ) as "has_zero_retention!""#,
        now,
        &closed,
        first,
        last
    )
    .fetch_all(&mut **tx)
    .await?;
    let event = UsageEvent::Delivered;
    let ended = rows.into_iter().map(|row| RecordedCallback {
        cargo: row.id,
        project: row.project,
        host: hosts.remove(&row.id).unwrap_or_default(),
        usage_key: row
            .is_news
            .then(|| usage_key(row.project, row.api_key, row.model, event)),
        has_zero_retention: row.has_zero_retention,
    });
    Ok(ended.collect())
}

/// Deletes the delivery of a failed resend and changes nothing else.
pub(super) async fn close_resend(
    tx: &mut Transaction,
    claim: Claim,
    cargo: &[Uuid],
) -> Result<Vec<RecordedCallback>, Error> {
    let (first, last) = id_bounds(cargo);
    let rows = sqlx::query!(
        "with closed as (
             delete from shard.delivery
             where cargo = any($1)
                 and node is not distinct from $2 and epoch is not distinct from $3
             returning cargo, host
         )
         select closed.cargo, closed.host, c.project
         from closed join shard.cargo c on c.id = closed.cargo
         where c.id = any($1) and c.id >= $4 and c.id <= $5",
        cargo,
        claim.node,
        claim.epoch,
        first,
        last
    )
    .fetch_all(&mut **tx)
    .await?;
    let left = rows.into_iter().map(|row| RecordedCallback {
        cargo: row.cargo,
        project: row.project,
        host: row.host,
        usage_key: None,
        has_zero_retention: false,
    });
    Ok(left.collect())
}

fn usage_key(project: Uuid, key: Uuid, model: String, event: UsageEvent) -> UsageKey {
    UsageKey {
        project: ProjectId::from(project),
        key: ApiKeyId::from(key),
        model,
        event,
    }
}
