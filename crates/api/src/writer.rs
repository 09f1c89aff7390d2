//! Group commit: loads that wait together are written together.
//!
//! Each writer is a task of its own: a caller that hangs up cancels nothing.
//! An organization's loads always go to the same writer, so that the writers of
//! a node never wait for each other; an account that another node holds is
//! waited for aside, by the patient writer, while everyone else goes on.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use domain::account::AccountRefusal;
use domain::admission::LoadRefusal;
use domain::callback::CallbackUrl;
use domain::hold::Hold;
use domain::id::{CargoId, FileId};
use domain::idempotency::Named;
use domain::lane::LaneId;
use store::Shard;
use store::body::Packed;
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

use crate::caller::Caller;
use crate::limits::Pass;
use crate::writer::admission::{Admission, MAX_QUEUED_LOADS, Ticket};
use crate::writer::group::Group;

pub(crate) use crate::writer::admission::Overload;

mod admission;

mod group;

mod pace;

mod transaction;

/// How many groups of a shard are under way at once: while one waits for the disk,
/// the other is being formed. More would make smaller groups, which cost more.
const WRITERS: usize = 2;
/// Under load a group waits a moment for company; a transaction costs as much as ten rows.
const MOMENT: Duration = Duration::from_millis(1);
/// With fewer than this in the last group nobody is worth waiting for.
const COMPANY: u32 = 4;
/// The largest group, by loads and by bytes.
const MAX_GROUP_LOADS: usize = 512;
const MAX_GROUP_BYTES: usize = 16 << 20;

/// A checked load, ready to be stored.
#[derive(Debug)]
pub(crate) struct Loading {
    pub(crate) caller: Caller,
    pub(crate) lane: LaneId,
    pub(crate) model: String,
    pub(crate) callback: Option<CallbackUrl>,
    pub(crate) request: Packed,
    /// What the request takes before it is packed.
    pub(crate) unpacked_bytes: usize,
    pub(crate) metadata: Option<String>,
    pub(crate) named: Option<Named>,
    pub(crate) hold: Hold,
    /// The files that it names, each once.
    pub(crate) files: Vec<FileId>,
    /// What the plan allows in a month, unless the account says otherwise.
    pub(crate) monthly_tokens: Option<u64>,
}

/// It is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    New(CargoId),
    /// It was stored before, under the same idempotency key.
    Replay(CargoId),
}

/// Why it is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotStored {
    /// The idempotency key belongs to another body.
    KeyReused,
    /// The account has not enough tokens or credit for it.
    Refused(AccountRefusal),
    /// A file that it names went away after it was looked up.
    File(LoadRefusal),
    /// The shard cannot be reached, or does not say what became of the load.
    Away,
    /// Too much waits already.
    Overloaded(Overload),
    /// The row is not what it should be; the text is for the log.
    Failed(String),
}

pub(crate) type Answer = Result<Stored, NotStored>;

impl From<Overload> for NotStored {
    fn from(overload: Overload) -> Self {
        metrics::counter!("loads_overload_refused_total").increment(1);
        Self::Overloaded(overload)
    }
}

#[derive(Debug)]
struct Waiting {
    load: Loading,
    /// Spent when the load is stored, given back with everything else.
    pass: Pass,
    ticket: Ticket,
    answer: oneshot::Sender<Answer>,
}

/// The way into one writer's queue.
#[derive(Debug, Clone)]
struct QueueSender {
    admission: Arc<Admission>,
    sender: mpsc::Sender<Waiting>,
}

/// The writer's end of it.
#[derive(Debug)]
struct QueueReceiver {
    admission: Arc<Admission>,
    receiver: mpsc::Receiver<Waiting>,
}

fn queue() -> (QueueSender, QueueReceiver) {
    let admission = Arc::new(Admission::default());
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

/// The ways into one writer: to itself, and to the one beside it that waits for accounts.
#[derive(Debug, Clone)]
struct Door {
    writer: QueueSender,
    aside: QueueSender,
}

impl Door {
    /// Whether another load of this caller may come. Where earlier loads of its organization
    /// wait for the account, it would have to wait with them.
    fn check(&self, caller: &Caller, now: Instant) -> Result<(), Overload> {
        self.writer.admission.check(now)?;
        if self.aside.admission.has(caller.organization) {
            self.aside.admission.check(now)?;
        }
        Ok(())
    }
}

#[derive(Debug)]
pub(crate) struct Writer {
    shard: Arc<Shard>,
    doors: Mutex<Option<Vec<Door>>>,
    /// Of each door's writer and of the one beside it.
    receivers: Mutex<Vec<(QueueReceiver, QueueReceiver)>>,
    written: TaskTracker,
}

impl Writer {
    pub(crate) fn new(shard: Arc<Shard>) -> Self {
        let pairs = (0..WRITERS).map(|_| {
            let (writer, writing) = queue();
            let (aside, patient) = queue();
            (Door { writer, aside }, (writing, patient))
        });
        let (doors, receivers) = pairs.unzip();
        Self {
            shard,
            doors: Mutex::new(Some(doors)),
            receivers: Mutex::new(receivers),
            written: TaskTracker::new(),
        }
    }

    /// Starts the writers. They end when the last door is closed and all is written.
    pub(crate) fn spawn(&self, tracker: &TaskTracker) {
        let doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        let mut receivers = self
            .receivers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for (door, (writing, patient)) in doors.iter().flatten().zip(receivers.drain(..)) {
            let (shard, aside) = (self.shard.clone(), Some(door.aside.clone()));
            tracker.spawn(
                self.written
                    .track_future(write_all(shard.clone(), writing, aside)),
            );
            tracker.spawn(self.written.track_future(write_all(shard, patient, None)));
        }
    }

    /// Whether a load of this caller would find a place: asked before anything is spent on it.
    pub(crate) fn check_room(&self, caller: &Caller) -> Result<(), NotStored> {
        let door = self.door(caller).ok_or(NotStored::Away)?;
        Ok(door.check(caller, Instant::now())?)
    }

    /// Stores a load, together with whatever else waits.
    pub(crate) async fn store(&self, load: Loading, pass: Pass) -> Answer {
        let (answer, answered) = oneshot::channel();
        let door = self.door(&load.caller).ok_or(NotStored::Away)?;
        let now = Instant::now();
        door.check(&load.caller, now)?;
        let (organization, bytes) = (load.caller.organization, load.unpacked_bytes);
        let admission = &door.writer.admission;
        let ticket = admission.admit(organization, bytes, now)?;
        let waiting = Waiting {
            load,
            pass,
            ticket,
            answer,
        };
        // There is room for all that have a ticket.
        door.writer
            .sender
            .try_send(waiting)
            .map_err(|_| NotStored::Away)?;
        drop(door);
        answered.await.unwrap_or(Err(NotStored::Away))
    }

    pub(crate) async fn close(&self) {
        drop(
            self.doors
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
        self.written.close();
        self.written.wait().await;
    }

    fn door(&self, caller: &Caller) -> Option<Door> {
        let mut hasher = DefaultHasher::new();
        caller.organization.hash(&mut hasher);
        let doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        let doors = doors.as_ref()?;
        let place =
            usize::try_from(hasher.finish() % 1024).unwrap_or_default() % doors.len().max(1);
        doors.get(place).cloned()
    }
}

/// Writes group after group. With `aside`, what another group holds is handed on;
/// without, it is waited for.
async fn write_all(shard: Arc<Shard>, mut queue: QueueReceiver, aside: Option<QueueSender>) {
    let mut last = 0;
    while let Some(first) = queue.receiver.recv().await {
        if last >= COMPANY {
            tokio::time::sleep(MOMENT).await;
        }
        let (oldest, begun) = (first.ticket.since, Instant::now());
        let max_loads = queue.admission.max_group().min(MAX_GROUP_LOADS);
        let mut group = Group::starting_with(first, max_loads);
        while !group.is_full()
            && let Ok(next) = queue.receiver.try_recv()
        {
            group.push(next);
        }
        last = group.size();
        metrics::histogram!("load_group_size").record(f64::from(last));
        queue.admission.begin_group(oldest);
        let takes_long = queue.admission.takes_long(last);
        let answered = group.write(&shard, aside.as_ref(), takes_long).await;
        queue.admission.end_group(last, answered, begun.elapsed());
    }
}
