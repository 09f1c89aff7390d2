//! Builds dispatch, collect and stream from the dependencies that they share.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::model::Catalogue;
use domain::route::InferenceMode;
use outbound::object_store::ObjectStore;
use store::Shard;
use store::shard::batch::BatchQueue;
use tokio::sync::watch;

use super::Wakeups;
use crate::account_states::{AccountSlots, AccountStates};
use crate::batch_tasks::BatchTasks;
use crate::byte_budget::ByteBudget;
use crate::callback_slots::CallbackSlots;
use crate::collect::{CollectStage, Collector};
use crate::dispatch::{DispatchStage, Submitter};
use crate::lane_cache::LaneCache;
use crate::lease::Lease;
use crate::providers::Providers;
use crate::stage::Wakeup;
use crate::stream::{StreamStage, Streamer};

#[derive(Debug)]
pub(super) struct BatchStageBuilder {
    pub(super) shard: Arc<Shard>,
    pub(super) lease: Lease,
    pub(super) accounts: Arc<AccountStates>,
    pub(super) catalogue: watch::Receiver<Arc<Catalogue>>,
    pub(super) providers: Arc<Providers>,
    pub(super) callback_slots: CallbackSlots,
    pub(super) objects: Option<ObjectStore>,
    pub(super) account_slots: AccountSlots,
    pub(super) spool_dir: PathBuf,
    pub(super) wakeups: Wakeups,
    pub(super) drain_timeout: Duration,
}

impl BatchStageBuilder {
    pub(super) fn dispatch(&self) -> DispatchStage {
        let (queue, slots) = (BatchQueue::Gathered, self.account_slots.submissions);
        DispatchStage {
            lease: self.lease.clone(),
            lanes: LaneCache::default(),
            submitter: Arc::new(Submitter {
                shard: self.shard.clone(),
                accounts: self.accounts.clone(),
                catalogue: self.catalogue.clone(),
                providers: self.providers.clone(),
                wakeups: [
                    self.wakeups.submitted.clone(),
                    self.wakeups.streamed.clone(),
                ],
                objects: self.objects.clone(),
                spool_dir: self.spool_dir.clone(),
            }),
            tasks: self.tasks("dispatch", queue, slots, &self.wakeups.gathered),
            drain_timeout: self.drain_timeout,
        }
    }

    pub(super) fn stream(&self) -> StreamStage {
        let (queue, slots) = (
            BatchQueue::Running(InferenceMode::Realtime),
            self.account_slots.streams,
        );
        StreamStage {
            lease: self.lease.clone(),
            lanes: LaneCache::default(),
            streamer: Arc::new(Streamer {
                shard: self.shard.clone(),
                accounts: self.accounts.clone(),
                catalogue: self.catalogue.clone(),
                providers: self.providers.clone(),
                callback_slots: self.callback_slots.clone(),
                objects: self.objects.clone(),
                limiters: Mutex::default(),
            }),
            tasks: self.tasks("stream", queue, slots, &self.wakeups.streamed),
        }
    }

    pub(super) fn collect(&self) -> CollectStage {
        let (queue, slots) = (
            BatchQueue::Running(InferenceMode::Batch),
            self.account_slots.polls,
        );
        CollectStage {
            lease: self.lease.clone(),
            lanes: LaneCache::default(),
            collector: Arc::new(Collector {
                shard: self.shard.clone(),
                accounts: self.accounts.clone(),
                catalogue: self.catalogue.clone(),
                providers: self.providers.clone(),
                callback_slots: self.callback_slots.clone(),
                spool_dir: self.spool_dir.clone(),
                memory: ByteBudget::default(),
            }),
            tasks: self.tasks("collect", queue, slots, &self.wakeups.submitted),
            drain: self.drain_timeout,
        }
    }

    fn tasks(
        &self,
        stage: &'static str,
        queue: BatchQueue,
        slots: usize,
        bell: &Wakeup,
    ) -> BatchTasks {
        let (accounts, shard) = (self.accounts.clone(), self.shard.clone());
        BatchTasks::new(accounts, shard, (stage, queue), slots, bell.clone())
    }
}
