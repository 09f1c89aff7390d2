//! A cache of what the lanes of a model measured. A load reads it to choose between batch, flex and
//! realtime.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::TimeDelta;
use domain::time::Timestamp;
use parking_lot::RwLock;
use store::Shard;
use store::shard::lane_state::{self, LaneState};
use store::single_flight::SingleFlight;

/// How long a state is used before it is read again.
const MAX_STATE_AGE: TimeDelta = TimeDelta::seconds(2);
/// Waiting cargo is counted up to here: a longer queue is a long one.
const MAX_COUNTED_CARGO: i64 = 2000;

/// The lanes of one model.
#[derive(Debug)]
pub(crate) struct ModelLanes {
    read_at: Timestamp,
    pub(crate) states: Vec<LaneState>,
    /// Loads that this process sent to flex since the states were read.
    flex_loads: AtomicU64,
}

impl ModelLanes {
    pub(crate) const fn new(states: Vec<LaneState>, read_at: Timestamp) -> Self {
        Self {
            read_at,
            states,
            flex_loads: AtomicU64::new(0),
        }
    }

    pub(crate) fn count_flex_load(&self) {
        self.flex_loads.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn flex_loads(&self) -> u64 {
        self.flex_loads.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
pub(crate) struct LaneStateCache {
    models: RwLock<HashMap<String, Arc<ModelLanes>>>,
    reading: SingleFlight,
}

impl LaneStateCache {
    /// The lanes of a model, without states if they cannot be read: a load is not refused because
    /// the measurements are missing.
    pub(crate) async fn find(&self, shard: &Shard, model: &str, now: Timestamp) -> Arc<ModelLanes> {
        let read = lane_state::list(shard, Some(model), MAX_COUNTED_CARGO, now);
        match self.find_or_read(model, now, read).await {
            Ok(lanes) => lanes,
            Err(failure) => {
                tracing::warn!(
                    shard = %shard.name,
                    model,
                    failure = failure.diagnosis(),
                    "lane states were not read; loads take their way by the default times"
                );
                self.keep(model, ModelLanes::new(Vec::new(), now))
            }
        }
    }

    async fn find_or_read(
        &self,
        model: &str,
        now: Timestamp,
        read: impl Future<Output = Result<Vec<LaneState>, store::Error>>,
    ) -> Result<Arc<ModelLanes>, store::Error> {
        let known = || {
            let models = self.models.read();
            let lanes = models.get(model)?;
            let is_fresh = (now - lanes.read_at).abs() < MAX_STATE_AGE;
            is_fresh.then(|| Arc::clone(lanes))
        };
        let read = async {
            let states = read.await?;
            Ok(self.keep(model, ModelLanes::new(states, now)))
        };
        self.reading.get_or_read(known, read).await
    }

    fn keep(&self, model: &str, lanes: ModelLanes) -> Arc<ModelLanes> {
        let lanes = Arc::new(lanes);
        let mut models = self.models.write();
        models.insert(model.to_owned(), Arc::clone(&lanes));
        lanes
    }
}

#[cfg(test)]
mod tests {
    use std::future;

    use domain::lane::{Lane, LaneId};
    use domain::model::{Model, ModelKind};
    use test_support::clock::ManualClock;

    use super::*;

    fn state(waiting: u64) -> LaneState {
        LaneState {
            id: LaneId(1),
            lane: Lane::preferred(&Model::plain("m", "flexible", ModelKind::Chat), "north"),
            p50: None,
            p90: None,
            p95: None,
            turnaround: None,
            refused_since: None,
            is_paused: false,
            capacity: 50,
            waiting,
            urgent: 0,
        }
    }

    /// A shard without a server: each query fails at once.
    fn unreachable_shard() -> Shard {
        let nowhere = "postgres:///none?host=/nonexistent/longshore";
        let clock = Arc::new(ManualClock::starting_at(at(0)));
        Shard::connect_lazily("north", nowhere, 1, clock).unwrap()
    }

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_timestamp_millis(milliseconds).unwrap()
    }

    async fn waiting(cache: &LaneStateCache, now: Timestamp, waiting: u64) -> u64 {
        let read = future::ready(Ok(vec![state(waiting)]));
        let lanes = cache.find_or_read("m", now, read).await.unwrap();
        lanes.states.iter().map(|it| it.waiting).sum()
    }

    #[tokio::test]
    async fn states_are_read_again_after_two_seconds() {
        let cache = LaneStateCache::default();
        assert_eq!(waiting(&cache, at(0), 1).await, 1);
        assert_eq!(waiting(&cache, at(1999), 2).await, 1);
        assert_eq!(waiting(&cache, at(2000), 3).await, 3);
    }

    #[tokio::test]
    async fn states_that_cannot_be_read_are_missing_for_as_long() {
        let cache = LaneStateCache::default();
        let shard = unreachable_shard();
        let lanes = cache.find(&shard, "m", at(0)).await;
        assert!(lanes.states.is_empty());
        lanes.count_flex_load();
        let same = cache.find(&shard, "m", at(1999)).await;
        assert_eq!(same.flex_loads(), 1);
        assert_eq!(waiting(&cache, at(2000), 3).await, 3);
    }
}
