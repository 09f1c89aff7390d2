//! The stages that carry batches to providers and back: what they share, and how each is made.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::model::Catalogue;
use domain::route::Via;
use outbound::objects::Objects;
use store::Shard;
use store::shard::batch::Queue;
use tokio::sync::watch;

use super::Bells;
use crate::accounts::{AccountSlots, Accounts};
use crate::callback_slots::CallbackSlots;
use crate::collect::{Collect, Collector};
use crate::dispatch::{Dispatch, Submitter};
use crate::lanes::Lanes;
use crate::lease::Lease;
use crate::memory::ByteBudget;
use crate::providers::Providers;
use crate::stage::Bell;
use crate::stream::{Stream, Streamer};
use crate::tasks::BatchTasks;

#[derive(Debug)]
pub(super) struct BatchStages {
    pub(super) shard: Arc<Shard>,
    pub(super) lease: Lease,
    pub(super) accounts: Arc<Accounts>,
    pub(super) catalogue: watch::Receiver<Arc<Catalogue>>,
    pub(super) providers: Arc<Providers>,
    pub(super) callback_slots: CallbackSlots,
    pub(super) objects: Option<Objects>,
    pub(super) slots: AccountSlots,
    pub(super) spools: PathBuf,
    pub(super) bells: Bells,
    pub(super) drain: Duration,
}

impl BatchStages {
    pub(super) fn dispatch(&self) -> Dispatch {
        let (queue, slots) = (Queue::Gathered, self.slots.submissions);
        Dispatch {
            lease: self.lease.clone(),
            lanes: Lanes::default(),
            submitter: Arc::new(Submitter {
                shard: self.shard.clone(),
                accounts: self.accounts.clone(),
                catalogue: self.catalogue.clone(),
                providers: self.providers.clone(),
                dispatched: [self.bells.submitted.clone(), self.bells.streamed.clone()],
                objects: self.objects.clone(),
                spools: self.spools.clone(),
            }),
            tasks: self.tasks("dispatch", queue, slots, &self.bells.gathered),
            drain: self.drain,
        }
    }

    pub(super) fn stream(&self) -> Stream {
        let (queue, slots) = (Queue::Running(Via::Realtime), self.slots.streams);
        Stream {
            lease: self.lease.clone(),
            lanes: Lanes::default(),
            streamer: Arc::new(Streamer {
                shard: self.shard.clone(),
                accounts: self.accounts.clone(),
                catalogue: self.catalogue.clone(),
                providers: self.providers.clone(),
                callback_slots: self.callback_slots.clone(),
                objects: self.objects.clone(),
                servers: Mutex::default(),
            }),
            tasks: self.tasks("stream", queue, slots, &self.bells.streamed),
        }
    }

    pub(super) fn collect(&self) -> Collect {
        let (queue, slots) = (Queue::Running(Via::Batch), self.slots.polls);
        Collect {
            lease: self.lease.clone(),
            lanes: Lanes::default(),
            collector: Arc::new(Collector {
                shard: self.shard.clone(),
                accounts: self.accounts.clone(),
                catalogue: self.catalogue.clone(),
                providers: self.providers.clone(),
                callback_slots: self.callback_slots.clone(),
                spools: self.spools.clone(),
                memory: ByteBudget::default(),
            }),
            tasks: self.tasks("collect", queue, slots, &self.bells.submitted),
            drain: self.drain,
        }
    }

    fn tasks(&self, stage: &'static str, queue: Queue, slots: usize, bell: &Bell) -> BatchTasks {
        let (accounts, shard) = (self.accounts.clone(), self.shard.clone());
        BatchTasks::new(accounts, shard, (stage, queue), slots, bell.clone())
    }
}
