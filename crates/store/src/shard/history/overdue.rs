//! What should have left: rows that are past their retention show that sweep fails.

use chrono::NaiveDate;
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::shard::partition;

/// The oldest of what is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OldestRows {
    pub day: Option<NaiveDate>,
    /// When the oldest batch ended.
    pub batch: Option<Timestamp>,
    pub posting: Option<Timestamp>,
}

/// Each by one index lookup.
pub async fn find_oldest(shard: &Shard) -> Result<OldestRows, Error> {
    let row = sqlx::query!(
        "select (select min(ended_at) from shard.batch where state = 'ended') as batch,
             (select min(at) from shard.posting) as posting"
    )
    .fetch_one(&shard.pool)
    .await?;
    Ok(OldestRows {
        day: partition::list_days(shard).await?.first().copied(),
        batch: row.batch,
        posting: row.posting,
    })
}
