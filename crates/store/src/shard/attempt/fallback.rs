//! The fallback for an attempt that cannot be recorded as it is: its callback still ends.

use chrono::TimeDelta;
use domain::time::Timestamp;

use super::{AttemptLog, AttemptResult, EndedAttempt, write};
use crate::Error;
use crate::Shard;
use crate::shard::node::Claim;

/// When a callback whose end could not be recorded at all is tried again.
const RETRY_DELAY: TimeDelta = TimeDelta::minutes(10);

/// What happened to the callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FallbackResult {
    /// The result of the attempt was recorded; only its row in the log is missing.
    WithoutLog,
    /// The callback has failed and is not tried again.
    Failed,
    /// The claim was released, and another takeover was counted.
    Postponed,
}

/// Records an attempt that failed to be recorded alone. Tries without its log row, then as
/// failed, then only postpones it.
pub async fn record_with_fallback(
    shard: &Shard,
    claim: Claim,
    ended: &EndedAttempt,
    now: Timestamp,
) -> Result<FallbackResult, Error> {
    let mut ended = ended.clone();
    for result in [FallbackResult::WithoutLog, FallbackResult::Failed] {
        match write(
            shard,
            claim,
            std::slice::from_ref(&ended),
            AttemptLog::Skip,
            now,
        )
        .await
        {
            Ok(_) => return Ok(result),
            Err(failure) if failure.is_unavailable() => return Err(failure),
            Err(_) => {
                ended.result = if ended.result.is_resend() {
                    AttemptResult::ResendFailed
                } else {
                    AttemptResult::Failed
                };
            }
        }
    }
    sqlx::query!(
        "update shard.delivery
         set node = null, epoch = null, takeovers = takeovers + 1, due_at = $4
         where cargo = $1 and node is not distinct from $2 and epoch is not distinct from $3",
        ended.cargo.uuid(),
        claim.node,
        claim.epoch,
        now + RETRY_DELAY
    )
    .execute(&shard.pool)
    .await?;
    Ok(FallbackResult::Postponed)
}
