//! Deletes what batches in other providers' formats leave behind.

use chrono::TimeDelta;
use domain::time::Timestamp;
use store::shard::{dropin, parcel, partition};

use super::SweepStage;

/// How many parcels are deleted in a minute. A parcel may have 256 MB.
const MAX_PARCELS_PER_STEP: i64 = 100;
const MAX_BATCHES_PER_STEP: i64 = 1000;
/// How long a batch is still listed after its results were deleted.
const ARCHIVE_TIME: TimeDelta = TimeDelta::days(30);

impl SweepStage {
    /// Expired items, and batches whose groups are past the retention.
    pub(super) async fn delete_dropins(&self, now: Timestamp) -> Result<(), store::Error> {
        let shard = &self.shard;
        let before = now - self.retention.max(partition::MIN_RETENTION);
        parcel::expire_older(shard, before, now).await?;
        parcel::delete_expired(shard, now, MAX_PARCELS_PER_STEP).await?;
        dropin::archive(shard, before, MAX_BATCHES_PER_STEP, now).await?;
        dropin::delete_archived(shard, now - ARCHIVE_TIME, MAX_BATCHES_PER_STEP).await?;
        Ok(())
    }
}
