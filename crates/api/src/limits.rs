//! Limits on loads: a bucket for each organization, a backstop for each project.
//!
//! One task per process asks Redis for everyone who waits, in one round trip;
//! while a call is under way the next group collects. When Redis does not
//! answer within its budget, everyone is answered by buckets of this process,
//! which hold its share of the limit, until a probe finds Redis again. What was
//! spent meanwhile is then told to it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::id::{OrganizationId, ProjectId};
use domain::limit::{Backstop, Rate};
use domain::time::Clock;
use outbound::counters::Counters;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::limits::ask::Ask;
use crate::limits::desk::Desk;
use crate::limits::line::Line;
use crate::limits::returns::Returns;
use crate::limits::status::Status;
use crate::limits::watch::Watch;

mod ask;
mod desk;
mod line;
mod local;
mod nodes;
mod pass;
mod pending;
mod refusal;
mod returns;
mod standing;
mod status;
mod watch;

pub(crate) use nodes::Nodes;
pub(crate) use pass::Pass;
pub(crate) use refusal::{Backstopped, Empty};
pub(crate) use standing::Standing;
pub use status::RedisContact;

/// What may wait; who comes beyond it waits at the door.
const ROOM: usize = 8192;

/// How the limiter is kept.
#[derive(Debug, Clone)]
pub struct LimiterOptions {
    pub backstop: Backstop,
    /// How long Redis may take to answer a call.
    pub budget: Duration,
    /// A clock for all buckets in place of Redis's own: for tests and trials.
    pub clock: Option<Arc<dyn Clock>>,
}

/// Who says whether a load may be taken.
#[derive(Debug)]
pub struct Limiter {
    door: mpsc::Sender<Ask>,
    desk: Mutex<Option<(Desk, mpsc::Receiver<Ask>)>>,
    status: Arc<Status>,
    nodes: Arc<Nodes>,
}

impl Limiter {
    pub(crate) fn new(counters: Option<Counters>, nodes: Nodes, options: LimiterOptions) -> Self {
        let (door, room) = mpsc::channel(ROOM);
        let (nodes, status) = (Arc::new(nodes), Arc::new(Status::new(counters.is_some())));
        let line = counters.map(|counters| Line::new(counters, options.budget, status.clone()));
        let desk = Desk::new(
            line,
            options.backstop,
            Watch::new(options.clock),
            nodes.clone(),
            status.clone(),
            Arc::new(Returns::default()),
        );
        Self {
            door,
            desk: Mutex::new(Some((desk, room))),
            status,
            nodes,
        }
    }

    /// Starts the desk and the heartbeats, which stop when told to: after the last request.
    pub(crate) fn spawn(&self, tracker: &TaskTracker, stop: &CancellationToken) {
        let desk = self
            .desk
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some((desk, room)) = desk {
            tracker.spawn(desk.run(room, stop.clone()));
            let (nodes, stopped) = (self.nodes.clone(), stop.clone());
            tracker.spawn(async move { nodes.run(stopped).await });
        }
    }

    /// Counts a load of the project.
    pub(crate) async fn count(&self, project: ProjectId) -> Result<(), Backstopped> {
        let (answer, answered) = oneshot::channel();
        let ask = Ask::Count { project, answer };
        match self.door.send(ask).await {
            Ok(()) => answered.await.unwrap_or(Ok(())),
            // The desk is gone, so the process is ending: nobody is held up by it.
            Err(_) => Ok(()),
        }
    }

    /// Takes a token of the organization. It comes back unless the load is stored.
    pub(crate) async fn take(
        &self,
        organization: OrganizationId,
        rate: Rate,
    ) -> Result<Pass, Empty> {
        let (answer, answered) = oneshot::channel();
        let ask = Ask::Take {
            organization,
            rate,
            answer,
        };
        let sent = self.door.send(ask).await;
        let answered = match sent {
            Ok(()) => answered.await.ok(),
            Err(_) => None,
        };
        answered.unwrap_or_else(|| Ok(Pass::of_nobody(organization, rate)))
    }

    /// How many asks were answered by this process alone although there is a Redis.
    pub fn fallbacks(&self) -> u64 {
        self.status.fallbacks()
    }

    /// How Redis was last seen; nothing when there is none.
    pub fn contact(&self) -> Option<RedisContact> {
        self.status.contact()
    }

    /// How many processes serve, as far as this one knows.
    pub fn nodes(&self) -> u32 {
        self.nodes.alive()
    }

    /// One heartbeat, as they go out by themselves every two seconds.
    pub async fn beat(&self) {
        self.nodes.beat().await;
    }
}

#[cfg(test)]
mod tests;
