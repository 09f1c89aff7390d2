//! Allows the removal of bytes only while the rows are proven to be as new as the bucket.
//!
//! Every minute a marker is written: first its generation into the rows, then the marker into the
//! bucket. A database that was restored, promoted or copied has another origin, or an older
//! generation than the bucket. Then removal is held until an operator confirms.

use std::sync::Arc;

use chrono::TimeDelta;
use domain::bucket_marker::{BucketMarker, RemovalHoldReason, check_bucket_marker};
use domain::time::Timestamp;
use outbound::object_store::{ObjectStore, ObjectStoreFailure};
use store::Shard;
use store::shard::bucket_marker::{self, BucketMarkerState};

/// How often a marker is written and compared.
const MARKER_INTERVAL: TimeDelta = TimeDelta::minutes(1);

/// Why bytes were not removed.
pub(crate) enum RemovalError {
    ObjectStore(ObjectStoreFailure),
    Database(store::Error),
    /// Until an operator confirms.
    Held,
}

impl From<ObjectStoreFailure> for RemovalError {
    fn from(failure: ObjectStoreFailure) -> Self {
        Self::ObjectStore(failure)
    }
}

impl From<store::Error> for RemovalError {
    fn from(failure: store::Error) -> Self {
        Self::Database(failure)
    }
}

#[derive(Debug)]
pub(crate) struct RemovalGuard {
    shard: Arc<Shard>,
    compare_at: Timestamp,
    /// The newest generation that this process has read from the rows.
    newest_generation: i64,
}

impl RemovalGuard {
    pub(crate) const fn new(shard: Arc<Shard>) -> Self {
        Self {
            shard,
            compare_at: Timestamp::UNIX_EPOCH,
            newest_generation: 0,
        }
    }

    /// Compares rows and bucket when that is due, and writes the next marker.
    pub(crate) async fn ensure_allowed(
        &mut self,
        objects: &ObjectStore,
        now: Timestamp,
    ) -> Result<(), RemovalError> {
        if now < self.compare_at {
            return self.check_rows().await;
        }
        // The bucket first, so that the rows are as new or newer.
        let found = objects.read_marker(&self.shard.name).await?;
        let state = self.check_marker(found, now).await?;
        let before = now - MARKER_INTERVAL;
        let next = bucket_marker::begin_generation(&self.shard, &state, before, now).await?;
        if let Some(marker) = next {
            objects.write_marker(&self.shard.name, marker).await?;
        }
        self.newest_generation = next.map_or(state.marker.generation, |marker| marker.generation);
        self.compare_at = now + MARKER_INTERVAL;
        Ok(())
    }

    /// Called between reading rows and acting on them: a promotion in between shows here.
    pub(crate) async fn check_rows(&self) -> Result<(), RemovalError> {
        let now = self.shard.clock.now();
        self.check_marker(None, now).await.map(drop)
    }

    async fn check_marker(
        &self,
        found: Option<BucketMarker>,
        now: Timestamp,
    ) -> Result<BucketMarkerState, RemovalError> {
        let state = bucket_marker::read_state(&self.shard).await?;
        let shard = self.shard.name.to_string();
        let held = metrics::gauge!("longshore_object_removal_held", "shard" => shard.clone());
        if state.held.is_some() {
            held.set(1);
            bucket_marker::record_found(&self.shard, found).await?;
            return Err(RemovalError::Held);
        }
        let judged =
            check_bucket_marker(state.origin.as_ref(), &state.current, state.marker, found);
        let reason = match judged {
            Err(reason) => reason,
            Ok(()) if state.marker.generation < self.newest_generation => {
                RemovalHoldReason::RowsWentBack
            }
            Ok(()) => {
                held.set(0);
                return Ok(state);
            }
        };
        held.set(1);
        if bucket_marker::hold_removal(&self.shard, &reason.to_string(), found, now).await? {
            tracing::error!(
                shard,
                reason = %reason,
                "removal of files from the bucket is held: check that the database is the right one, then run: longshored admin files confirm"
            );
        }
        Err(RemovalError::Held)
    }
}
