//! Pauses a provider account that rejects its credential or is out of credit.

use chrono::TimeDelta;
use domain::time::Timestamp;
use store::Shard;
use store::shard::provider;

/// After this the account is tried again without an operator.
const PAUSE_DURATION: TimeDelta = TimeDelta::minutes(5);

/// Pauses the account on this shard; returns when it is tried again.
pub(crate) async fn pause_account(
    shard: &Shard,
    name: &str,
    reason: &str,
    now: Timestamp,
) -> Result<Timestamp, store::Error> {
    let retry_at = now + PAUSE_DURATION;
    provider::pause(shard, name, reason, Some(retry_at), now).await?;
    Ok(retry_at)
}
