//! How many processes serve: each has a row in control and renews it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use store::Control;
use store::control::node::{self, Node};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

const EVERY: Duration = Duration::from_secs(2);
const LEASE: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(2);
/// Nobody waits long for a process that goes.
const LEAVING: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Nodes {
    control: Control,
    node: Node,
    alive: AtomicU32,
    is_silent: AtomicBool,
}

impl Nodes {
    pub(crate) fn new(control: Control, node: Node) -> Self {
        Self {
            control,
            node,
            alive: AtomicU32::new(1),
            is_silent: AtomicBool::new(false),
        }
    }

    pub(super) fn alive(&self) -> u32 {
        self.alive.load(Ordering::Relaxed)
    }

    pub(super) async fn run(&self, stop: CancellationToken) {
        let mut tick = interval(EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while stop.run_until_cancelled(tick.tick()).await.is_some() {
            if stop.run_until_cancelled(self.beat()).await.is_none() {
                break;
            }
        }
        // Should this not get through, the lease runs out soon enough.
        let _left = timeout(LEAVING, node::leave(&self.control, &self.node)).await;
    }

    /// While control is away, the last count stands.
    pub(super) async fn beat(&self) {
        let beat = node::beat(&self.control, &self.node, LEASE.as_secs_f64());
        if let Ok(Ok(alive)) = timeout(PATIENCE, beat).await {
            self.alive.store(alive, Ordering::Relaxed);
            self.is_silent.store(false, Ordering::Relaxed);
            metrics::gauge!("limiter_nodes").set(f64::from(alive));
        } else if !self.is_silent.swap(true, Ordering::Relaxed) {
            tracing::warn!("control takes no heartbeat; the number of nodes stays as it was");
        }
    }
}
