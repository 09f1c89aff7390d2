//! Deliver: an outcome is POSTed to its callback, never early and never skipped.
//!
//! ```text
//! looks    which destinations have something due
//! queue    whose turn it is, among those with a free slot
//! claim    their rows, by id; contents as memory allows
//! send     the POSTs in flight
//! record   what became of them
//! ```

use std::sync::Arc;

use domain::delivery::Schedule;
use domain::host_pace::HostClass;
use domain::time::Timestamp;
use outbound::callback::CallbackClient;
use store::Shard;
use store::shard::attempt::Ended;
use store::shard::node::Claim;
use tokio_util::sync::CancellationToken;

use crate::callback_slots::{CallbackSlots, PendingCallback};
use crate::deliver::claim::Unsent;
use crate::deliver::looks::DueLooks;
use crate::deliver::lost_claims::LostClaims;
use crate::deliver::queue::DueQueue;
use crate::deliver::send::CallbackSender;
use crate::lease::Lease;
use crate::stage::{Bell, Stage, Step};

mod claim;

mod looks;

mod lost_claims;

mod queue;

mod record;

mod send;

#[derive(Debug)]
pub struct Deliver {
    shard: Arc<Shard>,
    lease: Lease,
    schedule: Schedule,
    slots: CallbackSlots,
    sender: CallbackSender,
    looks: DueLooks,
    queue: DueQueue,
    lost_claims: LostClaims,
    /// Claimed, and waiting to be read or for memory.
    unsent: Vec<Unsent>,
    /// Ended, but not yet written, under this claim.
    unrecorded: Vec<Ended>,
    recorded_as: Claim,
}

/// What delivering needs besides the rows.
#[derive(Debug)]
pub(crate) struct DeliverDeps {
    pub(crate) callbacks: Arc<dyn CallbackClient>,
    pub(crate) schedule: Schedule,
    pub(crate) slots: CallbackSlots,
    pub(crate) bell: Bell,
}

impl Deliver {
    pub(crate) fn new(shard: Arc<Shard>, lease: Lease, deps: DeliverDeps) -> Self {
        Self {
            shard,
            recorded_as: lease.claim(),
            lease,
            schedule: deps.schedule,
            slots: deps.slots,
            sender: CallbackSender::new(deps.callbacks, deps.bell),
            looks: DueLooks::default(),
            queue: DueQueue::default(),
            lost_claims: LostClaims::default(),
            unsent: Vec::new(),
            unrecorded: Vec::new(),
        }
    }

    /// Steps until nothing of what is due now is left or in flight: for tests and for the end.
    pub async fn settle(&mut self, now: Timestamp) -> Result<(), store::Error> {
        loop {
            let did = self.step(now).await?;
            if did == Step::Idle && self.sender.is_idle() {
                return Ok(());
            }
            if did == Step::Idle {
                self.sender.wait().await;
            }
        }
    }

    /// Makes no new attempt; records what is in flight as it ends.
    pub(crate) async fn finish(&mut self) {
        let now = self.shard.clock.now();
        for callback in self.slots.collect() {
            // Not begun: its row is freed with the lease.
            let (to, bytes) = (&callback.destination, callback.bytes);
            self.slots.release(to, bytes, None, now);
        }
        while !(self.sender.is_idle() && self.unrecorded.is_empty()) {
            let now = self.shard.clock.now();
            match self.record(now).await {
                Ok(0) => self.sender.wait().await,
                Ok(_) => {}
                Err(failure) => {
                    tracing::warn!(shard = %self.shard.name, failure = %failure, "Callback attempts were not recorded at shutdown: another worker repeats them");
                    return;
                }
            }
        }
    }

    fn start(&self, callback: PendingCallback, lease: CancellationToken, now: Timestamp) {
        let class = self.slots.class(&callback.destination).as_str();
        let waited = (now - callback.due_at).to_std().unwrap_or_default();
        metrics::histogram!("callback_wait_seconds", "class" => class).record(waited.as_secs_f64());
        self.sender.start(callback, lease, now);
    }

    /// Starts what was stored by this process a moment ago; returns how many.
    fn start_handed_over(&self, now: Timestamp) -> usize {
        let (lease, claim) = (self.lease.token(), self.lease.claim());
        let callbacks = self.slots.collect();
        let count = callbacks.len();
        for callback in callbacks {
            if callback.claim == claim && !lease.is_cancelled() {
                self.start(callback, lease.clone(), now);
            } else {
                let (to, bytes) = (&callback.destination, callback.bytes);
                self.slots.release(to, bytes, None, now);
                self.slots.forget([callback.cargo]);
            }
        }
        count
    }

    async fn look(&mut self, now: Timestamp) -> Result<(), store::Error> {
        let found = self.looks.look(&self.shard, now).await?;
        if found.is_whole {
            self.queue.unblock_all(&self.slots);
        }
        for due in found.due {
            self.queue.enter(due, &self.slots);
        }
        let claim = self.lease.claim();
        let freed = self
            .lost_claims
            .free(&self.shard, claim, &self.slots, now)
            .await?;
        if freed > 0 {
            self.looks.look_at_whole_queue();
        }
        for class in HostClass::ALL {
            let count = u32::try_from(self.slots.in_use(class).slots).unwrap_or(u32::MAX);
            metrics::gauge!("callback_slots_in_use", "class" => class.as_str(), "shard" => self.shard.name.to_string())
                .set(f64::from(count));
        }
        Ok(())
    }
}

#[async_trait::async_trait]
impl Stage for Deliver {
    fn name(&self) -> &'static str {
        "deliver"
    }

    async fn step(&mut self, now: Timestamp) -> Result<Step, store::Error> {
        let mut did = self.record(now).await?;
        for freed in self.slots.take_freed() {
            self.queue.unblock(freed, &self.slots);
        }
        did += self.start_handed_over(now);
        if self.looks.is_due(now) {
            self.look(now).await?;
        }
        if !self.queue.is_empty() {
            self.claim(now).await?;
        }
        did += self.send_claimed(now).await?;
        Ok(if did == 0 { Step::Idle } else { Step::Did(did) })
    }
}
