//! Erases the bodies of cargo that is past the retention of its project, and deletes groups that are
//! past the retention of the installation.

use domain::time::Timestamp;
use store::shard::retention::{self, MAX_CARGO_PER_STEP};
use store::shard::{group, partition};

use super::{MINUTE, SweepStage};

/// How many groups are deleted in a minute. A group may have a million rows.
const MAX_GROUPS_PER_STEP: i64 = 100;

impl SweepStage {
    /// One transaction for the project that waits longest, and one for the queue. Returns how many
    /// cargo were erased.
    pub(super) async fn erase_bodies(&mut self, now: Timestamp) -> Result<u64, store::Error> {
        let walked = retention::walk(&self.shard, now).await?;
        let (examined, queued) =
            retention::erase_queued(&self.shard, self.erasures_from, now).await?;
        if examined < MAX_CARGO_PER_STEP {
            // Rows before this are dead. Once a minute the search starts at the oldest again.
            self.erasures_from = now - MINUTE;
        }
        let erased = u64::try_from(walked + queued).unwrap_or(u64::MAX);
        let shard = self.shard.name.to_string();
        metrics::counter!("longshore_cargo_erased_total", "shard" => shard).increment(erased);
        Ok(erased)
    }

    /// A group is kept as long as its newest cargo.
    pub(super) async fn delete_groups(&self, now: Timestamp) -> Result<(), store::Error> {
        let before = now - self.retention.max(partition::MIN_RETENTION);
        group::delete_expired(&self.shard, before, MAX_GROUPS_PER_STEP).await?;
        Ok(())
    }
}
