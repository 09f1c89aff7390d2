//! Whether bytes may be removed: only while the rows are proven to be as new as the bucket.
//!
//! Every minute a marker is written: first its generation into the rows, then the marker into the
//! bucket. A database that was restored, promoted or copied has another origin, or an older
//! generation than the bucket. Then removal is held until an operator confirms.

use std::sync::Arc;

use chrono::TimeDelta;
use domain::bucket_marker::{HoldReason, Marker, judge};
use domain::time::Timestamp;
use outbound::objects::{Failure, Objects};
use store::Shard;
use store::shard::bucket_marker::{self, MarkerState};

/// How often a marker is written and compared.
const MARKER_INTERVAL: TimeDelta = TimeDelta::minutes(1);

/// Why bytes were not removed.
pub(crate) enum Broken {
    Store(Failure),
    Rows(store::Error),
    /// Until an operator confirms.
    Held,
}

impl From<Failure> for Broken {
    fn from(failure: Failure) -> Self {
        Self::Store(failure)
    }
}

impl From<store::Error> for Broken {
    fn from(failure: store::Error) -> Self {
        Self::Rows(failure)
    }
}

#[derive(Debug)]
pub(crate) struct RemovalGuard {
    shard: Arc<Shard>,
    compare_at: Timestamp,
    /// The newest generation that this process has seen in the rows.
    seen: i64,
}

impl RemovalGuard {
    pub(crate) const fn new(shard: Arc<Shard>) -> Self {
        Self {
            shard,
            compare_at: Timestamp::UNIX_EPOCH,
            seen: 0,
        }
    }

    /// Compares rows and bucket when that is due, and writes the next marker.
    pub(crate) async fn allow(&mut self, objects: &Objects, now: Timestamp) -> Result<(), Broken> {
        if now < self.compare_at {
            return self.check_rows().await;
        }
        // The bucket first: the rows that are read after it are as new, or newer.
        let found = objects.read_marker(&self.shard.name).await?;
        let state = self.check(found, now).await?;
        let before = now - MARKER_INTERVAL;
        let next =
            bucket_marker::begin_generation(&self.shard, &state.current, before, now).await?;
        if let Some(marker) = next {
            objects.write_marker(&self.shard.name, marker).await?;
        }
        self.seen = next.map_or(state.marker.generation, |marker| marker.generation);
        self.compare_at = now + MARKER_INTERVAL;
        Ok(())
    }

    /// Called between reading rows and acting on them: a promotion in between shows here.
    pub(crate) async fn check_rows(&self) -> Result<(), Broken> {
        let now = self.shard.clock.now();
        self.check(None, now).await.map(drop)
    }

    async fn check(&self, found: Option<Marker>, now: Timestamp) -> Result<MarkerState, Broken> {
        let state = bucket_marker::state(&self.shard).await?;
        let shard = self.shard.name.to_string();
        let held = metrics::gauge!("patrol_held", "shard" => shard.clone());
        if state.held.is_some() {
            held.set(1);
            bucket_marker::note_found(&self.shard, found).await?;
            return Err(Broken::Held);
        }
        let judged = judge(state.origin.as_ref(), &state.current, state.marker, found);
        let reason = match judged {
            Err(reason) => reason,
            Ok(()) if state.marker.generation < self.seen => HoldReason::RowsWentBack,
            Ok(()) => {
                held.set(0);
                return Ok(state);
            }
        };
        held.set(1);
        if bucket_marker::hold(&self.shard, &reason.to_string(), found, now).await? {
            tracing::error!(
                shard,
                reason = %reason,
                "Removal of files from the bucket is held: {reason}. Check that the database is the right one, then run: longshored admin files confirm"
            );
        }
        Err(Broken::Held)
    }
}
