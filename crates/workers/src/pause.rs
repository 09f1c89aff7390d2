//! An account that lets nobody in, or does not pay, takes nothing for a while.

use chrono::TimeDelta;
use domain::time::Timestamp;
use store::Shard;
use store::shard::provider;

/// It is tried again by itself after this.
const PAUSE: TimeDelta = TimeDelta::minutes(5);

/// Pauses it on this shard; returns when it is tried again.
pub(crate) async fn pause(
    shard: &Shard,
    name: &str,
    reason: &str,
    now: Timestamp,
) -> Result<Timestamp, store::Error> {
    let retry_at = now + PAUSE;
    provider::pause(shard, name, reason, Some(retry_at), now).await?;
    Ok(retry_at)
}
