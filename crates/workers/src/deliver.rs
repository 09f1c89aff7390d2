//! Deliver: POSTs outcomes to their callbacks, never early and never skipped.
//!
//! ```text
//! due_discovery      finds destinations with due callbacks
//! due_queue          picks the next ones in fair order, among those with a free slot
//! claim              claims their rows, and reads their payloads as memory allows
//! contents           is what a delivery sends: an outcome, or the completion of a group
//! project_settings   knows whether a project's callbacks are signed and include metadata
//! send               signs and makes the POSTs
//! listen_tunnel      hands callbacks over to programs that listen under a name
//! record             records their results
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::callback_signature::SigningRoots;
use domain::host_pace::HostClass;
use domain::retry_schedule::RetrySchedule;
use domain::time::Timestamp;
use outbound::callback::CallbackClient;
use outbound::otlp::Tracer;
use store::Shard;
use store::shard::attempt::EndedAttempt;
use store::shard::node::Claim;
use tokio_util::sync::CancellationToken;

use crate::callback_slots::{CallbackSlots, PendingCallback};
use crate::deliver::claim::{ROOT_MISSING_REASON, UnsentDelivery};
use crate::deliver::due_discovery::DueDiscovery;
use crate::deliver::due_queue::DueQueue;
use crate::deliver::listen_tunnel::ListenTunnel;
use crate::deliver::lost_claims::LostClaims;
use crate::deliver::project_settings::{CallbackSigning, ProjectSettings};
use crate::deliver::send::{AttemptEnd, CallbackSender, CallbackTargets, FinishedCallback};
use crate::lease::Lease;
use crate::stage::{Stage, StepResult, Wakeup};

mod claim;

mod contents;

mod due_discovery;

mod listen_tunnel;

mod lost_claims;

mod due_queue;

mod project_settings;

mod record;

mod send;

#[derive(Debug)]
pub struct DeliverStage {
    shard: Arc<Shard>,
    lease: Lease,
    retry_schedule: RetrySchedule,
    slots: CallbackSlots,
    sender: CallbackSender,
    project_settings: ProjectSettings,
    discovery: DueDiscovery,
    queue: DueQueue,
    lost_claims: LostClaims,
    /// Claimed, but not read yet, or waiting for memory.
    unsent: Vec<UnsentDelivery>,
    /// Ended under `unrecorded_claim`, but not recorded yet.
    unrecorded: Vec<EndedAttempt>,
    unrecorded_claim: Claim,
    /// Since when they wait for others.
    unrecorded_since: Option<Instant>,
    tracer: Option<Tracer>,
}

/// What deliver needs besides the rows.
#[derive(Debug)]
pub(crate) struct DeliverDeps {
    pub(crate) callbacks: Arc<dyn CallbackClient>,
    /// How long an attempt waits for a listener. None: the listen tunnel is off.
    pub(crate) listener_timeout: Option<Duration>,
    pub(crate) retry_schedule: RetrySchedule,
    pub(crate) slots: CallbackSlots,
    pub(crate) wakeup: Wakeup,
    /// None: this process cannot sign.
    pub(crate) signing_roots: Option<SigningRoots>,
    /// None: tracing is off.
    pub(crate) tracer: Option<Tracer>,
}

impl DeliverStage {
    pub(crate) fn new(shard: Arc<Shard>, lease: Lease, deps: DeliverDeps) -> Self {
        let tunnel = deps.listener_timeout.map(|timeout| {
            let tunnel = ListenTunnel::new(Arc::clone(&shard), timeout);
            Arc::new(tunnel)
        });
        let targets = CallbackTargets {
            http: deps.callbacks,
            tunnel,
        };
        Self {
            shard,
            unrecorded_claim: lease.claim(),
            lease,
            retry_schedule: deps.retry_schedule,
            slots: deps.slots,
            sender: CallbackSender::new(targets, deps.wakeup),
            project_settings: ProjectSettings::new(deps.signing_roots),
            discovery: DueDiscovery::default(),
            queue: DueQueue::default(),
            lost_claims: LostClaims::default(),
            unsent: Vec::new(),
            unrecorded: Vec::new(),
            unrecorded_since: None,
            tracer: deps.tracer,
        }
    }

    /// Steps until no due callback is left or in flight. For tests.
    pub async fn run_until_idle(&mut self, now: Timestamp) -> Result<(), store::Error> {
        loop {
            let did = self.step(now).await?;
            if did == StepResult::Idle && self.sender.is_idle() {
                return Ok(());
            }
            if did == StepResult::Idle {
                self.sender.wait().await;
            }
        }
    }

    /// Starts no new attempt. Records those in flight as they end.
    pub(crate) async fn finish_in_flight(&mut self) {
        let now = self.shard.clock.now();
        for callback in self.slots.take_handed_over() {
            // Not sent: leaving the lease frees its row.
            let (to, bytes) = (&callback.destination, callback.bytes);
            self.slots.release(to, bytes, None, now);
        }
        while !(self.sender.is_idle() && self.unrecorded.is_empty()) {
            let now = self.shard.clock.now();
            match self.record_finished(now).await {
                Ok(0) => self.sender.wait().await,
                Ok(_) => {}
                Err(failure) => {
                    tracing::warn!(shard = %self.shard.name, failure = %failure, "callback attempts were not recorded at shutdown: another worker repeats them");
                    return;
                }
            }
        }
    }

    fn start(&self, mut callback: PendingCallback, lease: CancellationToken, now: Timestamp) {
        self.lease.check_deadline();
        callback.trace = callback.trace.filter(|_| self.tracer.is_some());
        let class = self.slots.class(&callback.destination).as_str();
        let waited = (now - callback.due_at).to_std().unwrap_or_default();
        metrics::histogram!("longshore_callback_queue_duration_seconds", "class" => class)
            .record(waited.as_secs_f64());
        let signer = match self.project_settings.signing(callback.project) {
            CallbackSigning::Off => None,
            CallbackSigning::On(signer) => Some(signer),
            CallbackSigning::RootMissing => {
                let end =
                    AttemptEnd::NotSent(self.report_unsent(callback.cargo, ROOT_MISSING_REASON));
                self.sender.skip(FinishedCallback::new(callback, end, now));
                return;
            }
        };
        self.sender.start(callback, signer, lease, now);
    }

    /// Starts the callbacks of outcomes that this process has just stored; returns how many.
    async fn start_handed_over(&mut self, now: Timestamp) -> Result<usize, store::Error> {
        let (claim, lease) = self.lease.claim_and_token();
        let callbacks = self.slots.take_handed_over();
        let count = callbacks.len();
        let projects = callbacks.iter().map(|callback| callback.project);
        let settings = &mut self.project_settings;
        if let Err(failure) = settings.refresh(&self.shard, projects, now).await {
            self.slots.restore_handed_over(callbacks);
            return Err(failure);
        }
        for callback in callbacks {
            if callback.claim == claim && !lease.is_cancelled() {
                let includes_metadata = self.project_settings.includes_metadata(callback.project);
                if includes_metadata || callback.lacks_names {
                    self.read_again(callback, lease.clone());
                } else {
                    self.start(callback, lease.clone(), now);
                }
            } else {
                let (to, bytes) = (&callback.destination, callback.bytes);
                self.slots.release(to, bytes, None, now);
                self.slots.forget([callback.cargo]);
            }
        }
        Ok(count)
    }

    /// Sends what is due, as far as there are slots and memory; returns how many callbacks.
    async fn send_due(&mut self, now: Timestamp) -> Result<usize, store::Error> {
        for freed in self.slots.take_freed() {
            self.queue.unblock(freed, &self.slots);
        }
        let handed_over = self.start_handed_over(now).await?;
        if self.discovery.is_due(now) {
            self.discover(now).await?;
        }
        if !self.queue.is_empty() {
            self.claim_due(now).await?;
        }
        Ok(handed_over + self.send_claimed(now).await?)
    }

    async fn discover(&mut self, now: Timestamp) -> Result<(), store::Error> {
        let found = self.discovery.discover(&self.shard, now).await?;
        if found.is_full {
            self.queue.unblock_all(&self.slots);
        }
        for due in found.due {
            self.queue.add(due, &self.slots);
        }
        let claim = self.lease.claim();
        let freed = self
            .lost_claims
            .free(&self.shard, claim, &self.slots, now)
            .await?;
        if freed > 0 {
            self.discovery.schedule_full_discovery();
        }
        for class in HostClass::ALL {
            let count = u32::try_from(self.slots.in_use(class).slots).unwrap_or(u32::MAX);
            metrics::gauge!("longshore_callback_slots_in_use", "class" => class.as_str(), "shard" => self.shard.name.to_string())
                .set(f64::from(count));
        }
        Ok(())
    }
}

#[async_trait::async_trait]
impl Stage for DeliverStage {
    fn name(&self) -> &'static str {
        "deliver"
    }

    async fn step(&mut self, now: Timestamp) -> Result<StepResult, store::Error> {
        let ended = self.record_finished(now).await?;
        Ok(StepResult::from_count(ended + self.send_due(now).await?))
    }

    async fn advance(&mut self, now: Timestamp) -> Result<StepResult, store::Error> {
        let ended = self.record_in_groups(now).await?;
        Ok(StepResult::from_count(ended + self.send_due(now).await?))
    }
}
