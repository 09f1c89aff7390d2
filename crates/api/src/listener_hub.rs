//! The listeners of one shard whose streams this process holds. One task renews their rows and takes
//! their callbacks, so its cost does not grow with the number of listeners.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::id::{ListenerId, ProjectId};
use domain::listener_name::ListenerName;
use parking_lot::Mutex;
use store::Shard;
use store::shard::handover::{self, ListenerRoom, TakenHandover};
use store::shard::listener::{self, ListenerRow};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) const MAX_LISTENERS_PER_PROJECT: i64 = 10;
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Two in 100 ms are 20 callbacks a second.
const MAX_CALLBACKS_PER_POLL: usize = 2;
/// Callbacks that the caller has not read yet.
const MAX_UNREAD_CALLBACKS: usize = 4;
/// A row is dead after 10 seconds.
const RENEW_INTERVAL: Duration = Duration::from_secs(2);
/// After a query that failed.
const RETRY_DELAY: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct ListenerHub {
    listeners: Mutex<HashMap<ListenerKey, OpenListener>>,
    /// One registration at a time, so that the newest row is also the newest stream here.
    registration: tokio::sync::Mutex<()>,
    listener_added: Notify,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ListenerKey {
    project: ProjectId,
    name: ListenerName,
}

#[derive(Debug)]
struct OpenListener {
    row: ListenerRow,
    callbacks: mpsc::Sender<TakenHandover>,
    replaced: CancellationToken,
}

/// The end of a listener that its stream holds. Dropping it ends the listener.
#[derive(Debug)]
pub(crate) struct ListenerChannel {
    pub(crate) id: ListenerId,
    pub(crate) callbacks: mpsc::Receiver<TakenHandover>,
    pub(crate) replaced: CancellationToken,
}

impl ListenerHub {
    /// Starts the task that works while there are listeners.
    pub(crate) fn spawn(
        self: &Arc<Self>,
        shard: &Arc<Shard>,
        tracker: &TaskTracker,
        stop: CancellationToken,
    ) {
        metrics::gauge!("longshore_listeners").increment(0.0);
        let (hub, shard) = (Arc::clone(self), Arc::clone(shard));
        tracker.spawn(async move { hub.run(&shard, stop).await });
    }

    /// None if the project has too many listeners.
    pub(crate) async fn register(
        &self,
        shard: &Shard,
        row: ListenerRow,
    ) -> Result<Option<ListenerChannel>, store::Error> {
        let _turn = self.registration.lock().await;
        if !listener::register(shard, &row, MAX_LISTENERS_PER_PROJECT).await? {
            return Ok(None);
        }
        let (sender, callbacks) = mpsc::channel(MAX_UNREAD_CALLBACKS);
        let replaced = CancellationToken::new();
        let channel = ListenerChannel {
            id: row.id,
            callbacks,
            replaced: replaced.clone(),
        };
        let key = ListenerKey {
            project: row.project,
            name: row.name.clone(),
        };
        let open = OpenListener {
            row,
            callbacks: sender,
            replaced,
        };
        match self.listeners.lock().insert(key, open) {
            Some(older) => older.replaced.cancel(),
            None => metrics::gauge!("longshore_listeners").increment(1.0),
        }
        self.listener_added.notify_one();
        Ok(Some(channel))
    }

    async fn run(&self, shard: &Shard, stop: CancellationToken) {
        let mut renew_at = Instant::now();
        while !stop.is_cancelled() {
            let delay = if self.listeners.lock().is_empty() {
                tokio::select! {
                    () = self.listener_added.notified() => {}
                    () = stop.cancelled() => {}
                }
                Duration::ZERO
            } else {
                self.poll(shard, &mut renew_at).await
            };
            tokio::select! {
                () = sleep(delay) => {}
                () = stop.cancelled() => {}
            }
        }
        let rows: Vec<ListenerId> = self.rows().iter().map(|row| row.id).collect();
        // Otherwise the rows are dead after 10 seconds.
        let _ = listener::delete(shard, &rows).await;
    }

    /// Polls once, and returns the time until the next poll.
    async fn poll(&self, shard: &Shard, renew_at: &mut Instant) -> Duration {
        let mut result = self.remove_closed(shard).await;
        if Instant::now() >= *renew_at {
            *renew_at = Instant::now() + RENEW_INTERVAL;
            result = result.and(self.renew(shard).await);
        }
        result = result.and(self.take_callbacks(shard).await);
        let Err(failure) = result else {
            return POLL_INTERVAL;
        };
        tracing::warn!(shard = %shard.name, failure = failure.diagnosis(), "listeners could not be served; they get their callbacks late");
        RETRY_DELAY
    }

    fn rows(&self) -> Vec<ListenerRow> {
        let listeners = self.listeners.lock();
        listeners.values().map(|open| open.row.clone()).collect()
    }

    /// Forgets the listeners for which the condition holds, and returns them.
    fn remove_if(&self, condition: impl Fn(&OpenListener) -> bool) -> Vec<OpenListener> {
        let mut listeners = self.listeners.lock();
        let removed = listeners.extract_if(|_, open| condition(open));
        let removed: Vec<OpenListener> = removed.map(|(_, open)| open).collect();
        drop(listeners);
        for _ in &removed {
            metrics::gauge!("longshore_listeners").decrement(1.0);
        }
        removed
    }

    async fn remove_closed(&self, shard: &Shard) -> Result<(), store::Error> {
        let closed = self.remove_if(|open| open.callbacks.is_closed());
        if closed.is_empty() {
            return Ok(());
        }
        let ids: Vec<ListenerId> = closed.iter().map(|open| open.row.id).collect();
        listener::delete(shard, &ids).await
    }

    /// Renews the rows. A listener without its row was replaced at another process.
    async fn renew(&self, shard: &Shard) -> Result<(), store::Error> {
        let rows = self.rows();
        if rows.is_empty() {
            return Ok(());
        }
        let alive = listener::renew(shard, &rows).await?;
        // One that came after the rows were read is not among them.
        let is_replaced = |open: &OpenListener| {
            !alive.contains(&open.row.id) && rows.iter().any(|row| row.id == open.row.id)
        };
        for replaced in self.remove_if(is_replaced) {
            replaced.replaced.cancel();
        }
        Ok(())
    }

    async fn take_callbacks(&self, shard: &Shard) -> Result<(), store::Error> {
        let rooms = self.rooms();
        if rooms.is_empty() {
            return Ok(());
        }
        let taken = handover::take(shard, &rooms).await?;
        if taken.is_empty() {
            return Ok(());
        }
        let listeners = self.listeners.lock();
        let open = listeners.values().map(|open| (open.row.id, open));
        let open: HashMap<ListenerId, &OpenListener> = open.collect();
        for callback in taken {
            if let Some(listener) = open.get(&callback.listener) {
                // Its stream may just have ended. Then the attempt times out.
                let _ = listener.callbacks.try_send(callback);
            }
        }
        Ok(())
    }

    /// How many callbacks each listener may take now.
    fn rooms(&self) -> Vec<ListenerRoom> {
        let listeners = self.listeners.lock();
        let rooms = listeners.values().map(|open| {
            let room = open.callbacks.capacity().min(MAX_CALLBACKS_PER_POLL);
            ListenerRoom {
                listener: open.row.id,
                room: i64::try_from(room).unwrap_or_default(),
            }
        });
        rooms.filter(|it| it.room > 0).collect()
    }
}
