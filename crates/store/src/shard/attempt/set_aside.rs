//! An attempt that cannot be recorded as it is: its callback still comes to an end.

use chrono::TimeDelta;
use domain::time::Timestamp;

use super::{Ended, Log, Verdict, write};
use crate::Error;
use crate::Shard;
use crate::shard::node::Claim;

/// When a callback that could not be ended at all is tried again.
const RETRY_DELAY: TimeDelta = TimeDelta::minutes(10);

/// What became of the callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetAside {
    /// It goes on as its attempt ended; only the attempt has no row.
    WithoutLog,
    /// It has failed and is not tried again.
    GivenUp,
    /// It is free, and another takeover is counted.
    Postponed,
}

/// Records an attempt that fails alone, with less and less, until something can be written.
pub async fn set_aside(
    shard: &Shard,
    claim: Claim,
    ended: &Ended,
    now: Timestamp,
) -> Result<SetAside, Error> {
    let mut ended = ended.clone();
    for result in [SetAside::WithoutLog, SetAside::GivenUp] {
        match write(shard, claim, std::slice::from_ref(&ended), Log::Skip, now).await {
            Ok(_) => return Ok(result),
            Err(failure) if failure.is_away() => return Err(failure),
            Err(_) => {
                ended.verdict = if ended.verdict.is_resend() {
                    Verdict::LeftAsItWas
                } else {
                    Verdict::GivenUp
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
    Ok(SetAside::Postponed)
}
