//! A process that only serves is a node of every shard too: it locks accounts while it writes loads.
//!
//! It claims nothing. When it is frozen or cut off, its peers end its sessions, and when a peer is,
//! it does the same.

use std::sync::Arc;
use std::time::Duration;

use store::Shard;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;
use workers::lease::Lease;

use crate::settings::table::Values;
use crate::wiring::{self, Stores};

/// A shard that is away is joined again after this.
const JOIN_PAUSE: Duration = Duration::from_secs(1);

pub fn keep(
    stores: &Stores,
    node: Uuid,
    values: &Values,
    beside: &TaskTracker,
    stop: &CancellationToken,
) {
    for shard in &stores.shards {
        let (shard, stop) = (Arc::clone(shard), stop.clone());
        beside.spawn(present(shard, node, values.lease, stop));
    }
}

async fn present(shard: Arc<Shard>, node: Uuid, length: Duration, stop: CancellationToken) {
    while !stop.is_cancelled() {
        let joining = Lease::join(Arc::clone(&shard), node, wiring::node_name(), false, length);
        if let Ok(lease) = joining.await {
            let tasks = TaskTracker::new();
            lease.spawn(&tasks, &stop);
            tasks.close();
            tasks.wait().await;
            if let Err(failure) = lease.leave().await {
                tracing::warn!(shard = %shard.name, failure = %failure, "the node was not removed: it lapses with its lease");
            }
        }
        tokio::select! {
            () = tokio::time::sleep(JOIN_PAUSE) => {}
            () = stop.cancelled() => {}
        }
    }
}
