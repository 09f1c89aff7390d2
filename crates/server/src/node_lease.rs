//! Node leases of a process that only serves: it locks accounts while it writes loads.
//!
//! It claims no work. When it freezes or loses its network, other nodes terminate its sessions; it
//! does the same for them.

use std::sync::Arc;
use std::time::Duration;

use store::Shard;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;
use workers::lease::Lease;

use crate::databases::{self, Stores};
use crate::settings::table::SettingValues;

/// How long to wait before joining a shard again.
const JOIN_RETRY_DELAY: Duration = Duration::from_secs(1);

pub fn spawn_leases(
    stores: &Stores,
    node: Uuid,
    values: &SettingValues,
    background: &TaskTracker,
    stop: &CancellationToken,
) {
    for shard in &stores.shards {
        let (shard, stop) = (Arc::clone(shard), stop.clone());
        background.spawn(hold_lease(shard, node, values.lease, stop));
    }
}

async fn hold_lease(shard: Arc<Shard>, node: Uuid, length: Duration, stop: CancellationToken) {
    while !stop.is_cancelled() {
        let joining = Lease::join(
            Arc::clone(&shard),
            node,
            databases::node_name(),
            false,
            length,
        );
        if let Ok(lease) = joining.await {
            let tasks = TaskTracker::new();
            lease.spawn(&tasks, &stop);
            tasks.close();
            tasks.wait().await;
            if let Err(failure) = lease.leave().await {
                tracing::warn!(
                    shard = %shard.name,
                    failure = %failure,
                    "node could not be removed from the shard; its lease expires instead"
                );
            }
        }
        tokio::select! {
            () = tokio::time::sleep(JOIN_RETRY_DELAY) => {}
            () = stop.cancelled() => {}
        }
    }
}
