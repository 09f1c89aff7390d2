//! Heartbeats to control, which count the serving processes: each renews the lease on its row.
//!
//! Without Redis the rate limiter divides its limits by this number.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use store::Control;
use store::control::node::{self, ServingNode};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(2);
const LEASE_DURATION: Duration = Duration::from_secs(10);
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(2);
/// Short, so that it does not delay the shutdown.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct NodeHeartbeat {
    control: Control,
    node: ServingNode,
    alive_nodes: AtomicU32,
    is_failing: AtomicBool,
}

impl NodeHeartbeat {
    pub(crate) fn new(control: Control, node: ServingNode) -> Self {
        Self {
            control,
            node,
            alive_nodes: AtomicU32::new(1),
            is_failing: AtomicBool::new(false),
        }
    }

    /// The number of serving processes, as of the last heartbeat.
    pub fn alive_nodes(&self) -> u32 {
        self.alive_nodes.load(Ordering::Relaxed)
    }

    pub(crate) async fn run(&self, stop: CancellationToken) {
        let mut tick = interval(HEARTBEAT_INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while stop.run_until_cancelled(tick.tick()).await.is_some() {
            if stop
                .run_until_cancelled(self.send_heartbeat())
                .await
                .is_none()
            {
                break;
            }
        }
        // If this fails, the lease runs out soon.
        let _left = timeout(LEAVE_TIMEOUT, node::leave(&self.control, &self.node)).await;
    }

    /// Sends one heartbeat. The background task sends one every two seconds. While control is
    /// unreachable, the last count stays valid.
    pub async fn send_heartbeat(&self) {
        let beat = node::heartbeat(&self.control, &self.node, LEASE_DURATION.as_secs_f64());
        if let Ok(Ok(alive)) = timeout(HEARTBEAT_TIMEOUT, beat).await {
            self.alive_nodes.store(alive, Ordering::Relaxed);
            self.is_failing.store(false, Ordering::Relaxed);
            metrics::gauge!("longshore_rate_limit_nodes").set(f64::from(alive));
        } else if !self.is_failing.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "heartbeat to control failed; the last known number of nodes stays in use"
            );
        }
    }
}
