//! Group commit: loads that are queued together are written in one transaction.
//!
//! The writer is a separate task, so a caller that disconnects cancels nothing. While one
//! group commits, it prepares the next one. Loads of an organization that is being written
//! stay queued, so the groups of a process never wait for each other. If another node has
//! locked an account, its loads move to a second queue, whose writer waits for the lock.
//! Other loads are not delayed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use domain::account::AccountRefusal;
use domain::admission::LoadRefusal;
use domain::callback_url::CallbackUrl;
use domain::cargo_group::CustomId;
use domain::group_digest::GroupDigest;
use domain::hold::Hold;
use domain::id::{CargoId, FileId, GroupId};
use domain::idempotency::IdempotencyKey;
use domain::key_spending::SpendingCap;
use domain::lane::LaneId;
use domain::response_shape::ResponseShape;
use domain::time::Timestamp;
use domain::trace_context::TraceContext;
use parking_lot::Mutex;
use store::Shard;
use store::body::PackedBody;
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

use crate::caller::Caller;
use crate::group_commit::admission_control::{AdmissionControl, MAX_QUEUED_LOADS, QueueTicket};
use crate::group_commit::writer::run_writer;
use crate::rate_limit::RateLimitToken;

pub(crate) use crate::group_commit::admission_control::Overload;
pub(crate) use crate::group_commit::idempotency::find_earlier_answer;
pub(crate) use crate::group_commit::members::find_repeated_member;

mod admission_control;

mod group;

mod idempotency;

mod members;

mod pending_loads;

mod throughput;

mod transaction;

mod write_turn;

mod writer;

/// A valid load, ready to be stored.
#[derive(Debug)]
pub(crate) struct PreparedLoad {
    pub(crate) caller: Caller,
    pub(crate) lane: LaneId,
    pub(crate) model: String,
    pub(crate) callback: Option<CallbackUrl>,
    pub(crate) request: PackedBody,
    /// The size of the request before compression.
    pub(crate) unpacked_bytes: usize,
    pub(crate) metadata: Option<String>,
    pub(crate) idempotency_key: Option<IdempotencyKey>,
    pub(crate) hold: Hold,
    /// The files that it references, each once.
    pub(crate) files: Vec<FileId>,
    /// The plan's monthly quota, unless the account has one of its own.
    pub(crate) monthly_tokens: Option<u64>,
    pub(crate) response_shape: ResponseShape,
    /// The warnings of the load as JSON, if there are any.
    pub(crate) warnings: Option<Vec<u8>>,
    /// The caller's deadline.
    pub(crate) deadline_at: Option<Timestamp>,
    /// Why the load takes its way, if there was a choice.
    pub(crate) route_reason: Option<&'static str>,
    /// The span of the load, if it is traced.
    pub(crate) trace: Option<TraceContext>,
    pub(crate) membership: Option<GroupMembership>,
}

/// The group of a load, and its place there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupMembership {
    pub(crate) group: GroupId,
    pub(crate) custom_id: Option<CustomId>,
    /// None: the next one.
    pub(crate) position: Option<u64>,
    /// Of what the load asks for.
    pub(crate) load_digest: GroupDigest,
}

impl PreparedLoad {
    /// The spending cap of its key, if the load costs anything.
    fn counted_cap(&self) -> Option<SpendingCap> {
        let cap = self.caller.spending_cap()?;
        (!self.hold.amount.is_zero()).then_some(cap)
    }
}

/// The load is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoredLoad {
    New(CargoId),
    /// It was stored before with the same idempotency key, or under the same custom id.
    Replay(CargoId),
}

impl StoredLoad {
    pub(crate) const fn cargo(self) -> CargoId {
        match self {
            Self::New(cargo) | Self::Replay(cargo) => cargo,
        }
    }
}

/// Why a load is not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreLoadError {
    /// The idempotency key was used with another body.
    KeyReused,
    /// The account does not have enough tokens or credit, or the key reaches its spending cap.
    Refused(AccountRefusal),
    /// A referenced file is no longer ready.
    File(LoadRefusal),
    /// The project has no such group.
    GroupNotFound,
    GroupSealed,
    /// The group has the most cargo that a group may have.
    GroupFull,
    /// Another load of the group has this custom id.
    CustomIdReused,
    /// Another load of the group has this position.
    PositionTaken,
    /// The shard is unreachable, or it is not known whether the load is stored.
    Unavailable,
    /// The data key of the project is unavailable, so the load cannot be encrypted.
    KeyUnavailable,
    /// The queue is full.
    Overloaded(Overload),
    /// The database rejected the row. The text is for the log.
    Failed(String),
}

pub(crate) type StoreLoadResult = Result<StoredLoad, StoreLoadError>;

impl From<Overload> for StoreLoadError {
    fn from(overload: Overload) -> Self {
        metrics::counter!("longshore_loads_refused_overload_total").increment(1);
        Self::Overloaded(overload)
    }
}

#[derive(Debug)]
struct QueuedLoad {
    load: PreparedLoad,
    /// Spent when the load is stored, and returned otherwise.
    token: RateLimitToken,
    ticket: QueueTicket,
    reply: oneshot::Sender<StoreLoadResult>,
}

/// The callers' end of a writer's queue.
#[derive(Debug, Clone)]
struct QueueSender {
    admission: Arc<AdmissionControl>,
    sender: mpsc::Sender<QueuedLoad>,
}

/// The writer's end of its queue.
#[derive(Debug)]
struct QueueReceiver {
    admission: Arc<AdmissionControl>,
    receiver: mpsc::Receiver<QueuedLoad>,
}

fn new_queue() -> (QueueSender, QueueReceiver) {
    let admission = Arc::new(AdmissionControl::default());
    let (sender, receiver) = mpsc::channel(MAX_QUEUED_LOADS);
    (
        QueueSender {
            admission: Arc::clone(&admission),
            sender,
        },
        QueueReceiver {
            admission,
            receiver,
        },
    )
}

/// The main queue, and the one of loads whose account is locked.
#[derive(Debug, Clone)]
struct WriterQueues {
    main: QueueSender,
    blocked: QueueSender,
}

impl WriterQueues {
    /// Whether there is room for a load of this caller. If earlier loads of its organization
    /// wait for the account's lock, this one would have to wait too.
    fn check(&self, caller: &Caller, now: Instant) -> Result<(), Overload> {
        self.main.admission.check(now)?;
        if self.blocked.admission.has_loads_of(caller.organization) {
            self.blocked.admission.check(now)?;
        }
        Ok(())
    }
}

#[derive(Debug)]
pub(crate) struct LoadWriter {
    shard: Arc<Shard>,
    /// None after `close`.
    queues: Mutex<Option<WriterQueues>>,
    /// The main and the blocked queue, until the writers start.
    receivers: Mutex<Option<(QueueReceiver, QueueReceiver)>>,
    writer_tasks: TaskTracker,
    /// The database was restored or copied, and may still be replaced: it takes no loads.
    is_paused: AtomicBool,
}

impl LoadWriter {
    pub(crate) fn new(shard: Arc<Shard>) -> Self {
        let (main, main_receiver) = new_queue();
        let (blocked, blocked_receiver) = new_queue();
        Self {
            shard,
            queues: Mutex::new(Some(WriterQueues { main, blocked })),
            receivers: Mutex::new(Some((main_receiver, blocked_receiver))),
            writer_tasks: TaskTracker::new(),
            is_paused: AtomicBool::new(false),
        }
    }

    pub(crate) fn set_paused(&self, is_paused: bool) {
        self.is_paused.store(is_paused, Ordering::Relaxed);
    }

    /// Starts the writers. They end after `close`, when all loads are written.
    pub(crate) fn spawn(&self, tracker: &TaskTracker) {
        let (queues, receivers) = (self.queues.lock().clone(), self.receivers.lock().take());
        let Some((queues, (main, blocked))) = queues.zip(receivers) else {
            return;
        };
        let shard = Arc::clone(&self.shard);
        for (queue, blocked) in [(main, Some(queues.blocked)), (blocked, None)] {
            let writer = run_writer(Arc::clone(&shard), queue, blocked);
            tracker.spawn(self.writer_tasks.track_future(writer));
        }
    }

    /// Whether there is room for a load of this caller. Checked before its body is read.
    pub(crate) fn check_capacity(&self, caller: &Caller) -> Result<(), StoreLoadError> {
        let queues = self.open_queues().ok_or(StoreLoadError::Unavailable)?;
        Ok(queues.check(caller, Instant::now())?)
    }

    /// Stores a load in one transaction with the other queued loads.
    pub(crate) async fn store(&self, load: PreparedLoad, token: RateLimitToken) -> StoreLoadResult {
        let (answer, answered) = oneshot::channel();
        let queues = self.open_queues().ok_or(StoreLoadError::Unavailable)?;
        let now = Instant::now();
        queues.check(&load.caller, now)?;
        let (organization, bytes) = (load.caller.organization, load.unpacked_bytes);
        let admission = &queues.main.admission;
        let ticket = admission.admit(organization, bytes, now)?;
        let entry = QueuedLoad {
            load,
            token,
            ticket,
            reply: answer,
        };
        // The channel has room for every load with a ticket.
        queues
            .main
            .sender
            .try_send(entry)
            .map_err(|_| StoreLoadError::Unavailable)?;
        drop(queues);
        answered.await.unwrap_or(Err(StoreLoadError::Unavailable))
    }

    pub(crate) async fn close(&self) {
        drop(self.queues.lock().take());
        self.writer_tasks.close();
        self.writer_tasks.wait().await;
    }

    /// None while the shard is paused, and after `close`.
    fn open_queues(&self) -> Option<WriterQueues> {
        if self.is_paused.load(Ordering::Relaxed) {
            return None;
        }
        self.queues.lock().clone()
    }
}
