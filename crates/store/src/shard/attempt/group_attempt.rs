//! The record of an attempt at the callback of a group, in the row of the group.

use super::{AttemptResult, EndedAttempt};
use crate::Error;
use crate::Transaction;
use crate::shard::node::Claim;

/// Ends the delivery, or schedules its next attempt. Returns whether the claim had it: otherwise
/// another node repeats the attempt. Runs last in its transaction, because it locks a group.
pub(super) async fn record_group_attempt(
    tx: &mut Transaction,
    claim: Claim,
    attempt: &EndedAttempt,
) -> Result<bool, Error> {
    let due_at = match attempt.result {
        AttemptResult::Retry { due_at } => Some(due_at),
        AttemptResult::Delivered
        | AttemptResult::Failed
        | AttemptResult::Redelivered
        | AttemptResult::ResendFailed => None,
    };
    let delivered_at = attempt.result.is_delivered().then_some(attempt.ended_at);
    let error = attempt.error.as_ref().map(|error| error.replace('\0', ""));
    let recorded = sqlx::query!(
        "with retried as (
             update shard.delivery
             set number = number + 1, due_at = $4, node = null, epoch = null, takeovers = 0
             where cargo = $1 and $4::timestamptz is not null
                 and node is not distinct from $2 and epoch is not distinct from $3
             returning cargo
         ), ended as (
             delete from shard.delivery
             where cargo = $1 and $4::timestamptz is null
                 and node is not distinct from $2 and epoch is not distinct from $3
             returning cargo
         )
         update shard.cargo_group set callback_attempts = $5, callback_attempted_at = $6,
             callback_status = $7, callback_error = $8, callback_delivered_at = $9
         where id in (select cargo from retried union all select cargo from ended)",
        attempt.cargo.uuid(),
        claim.node,
        claim.epoch,
        due_at,
        i16::try_from(attempt.number).unwrap_or(i16::MAX),
        attempt.started_at,
        attempt.status.and_then(|status| i16::try_from(status).ok()),
        error,
        delivered_at
    )
    .execute(&mut **tx)
    .await?;
    Ok(recorded.rows_affected() > 0)
}
