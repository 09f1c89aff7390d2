//! Group commit: loads that wait together are written together.
//!
//! Each writer is a task of its own: a caller that hangs up cancels nothing.
//! An organization's loads always go to the same writer, so that the writers of
//! a node never wait for each other; an account that another node holds is
//! waited for aside, by the patient writer, while everyone else goes on.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

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
use crate::writer::group::Group;

mod group;

mod transaction;

/// How many groups of a shard are under way at once: while one waits for the disk,
/// the other is being formed. More would make smaller groups, which cost more.
const WRITERS: usize = 2;
/// Under load a group waits a moment for company; a transaction costs as much as ten rows.
const MOMENT: Duration = Duration::from_millis(1);
/// With fewer than this in the last group nobody is worth waiting for.
const COMPANY: u32 = 4;
/// What may wait; beyond it a caller is told to come back.
const ROOM: usize = 4096;
/// The largest group, by loads and by bytes.
const MOST: usize = 512;
const MOST_BYTES: usize = 16 << 20;

/// A checked load, ready to be stored.
#[derive(Debug)]
pub(crate) struct Loading {
    pub(crate) caller: Caller,
    pub(crate) lane: LaneId,
    pub(crate) model: String,
    pub(crate) callback: Option<CallbackUrl>,
    pub(crate) request: Packed,
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
    Busy,
    /// The row is not what it should be; the text is for the log.
    Failed(String),
}

pub(crate) type Answer = Result<Stored, NotStored>;

#[derive(Debug)]
struct Waiting {
    load: Loading,
    /// Spent when the load is stored, given back with everything else.
    pass: Pass,
    answer: oneshot::Sender<Answer>,
}

#[derive(Debug)]
pub(crate) struct Writer {
    shard: Arc<Shard>,
    doors: Mutex<Option<Vec<mpsc::Sender<Waiting>>>>,
    rooms: Mutex<Vec<mpsc::Receiver<Waiting>>>,
    written: TaskTracker,
}

impl Writer {
    pub(crate) fn new(shard: Arc<Shard>) -> Self {
        let (doors, rooms) = (0..WRITERS).map(|_| mpsc::channel(ROOM)).unzip();
        Self {
            shard,
            doors: Mutex::new(Some(doors)),
            rooms: Mutex::new(rooms),
            written: TaskTracker::new(),
        }
    }

    /// Starts the writers. They end when the last door is closed and all is written.
    pub(crate) fn spawn(&self, tracker: &TaskTracker) {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        for room in rooms.drain(..) {
            let (aside, patient) = mpsc::channel(ROOM);
            let shard = self.shard.clone();
            tracker.spawn(
                self.written
                    .track_future(write_all(shard.clone(), room, Some(aside))),
            );
            tracker.spawn(self.written.track_future(write_all(shard, patient, None)));
        }
    }

    /// Stores a load, together with whatever else waits.
    pub(crate) async fn store(&self, load: Loading, pass: Pass) -> Answer {
        let (answer, answered) = oneshot::channel();
        let door = self.door(&load.caller).ok_or(NotStored::Away)?;
        door.try_send(Waiting { load, pass, answer })
            .map_err(|_| NotStored::Busy)?;
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

    fn door(&self, caller: &Caller) -> Option<mpsc::Sender<Waiting>> {
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
async fn write_all(
    shard: Arc<Shard>,
    mut room: mpsc::Receiver<Waiting>,
    aside: Option<mpsc::Sender<Waiting>>,
) {
    let mut last = 0;
    while let Some(first) = room.recv().await {
        if last >= COMPANY {
            tokio::time::sleep(MOMENT).await;
        }
        let mut group = Group::starting_with(first);
        while !group.is_full()
            && let Ok(next) = room.try_recv()
        {
            group.push(next);
        }
        last = group.size();
        metrics::histogram!("load_group_size").record(f64::from(last));
        group.write(&shard, aside.as_ref()).await;
    }
}
