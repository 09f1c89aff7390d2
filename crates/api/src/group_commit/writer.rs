//! The writer of a queue: it forms groups, and writes a few of them at the same time.
//!
//! It clocks itself: the next group starts when the one before sends its COMMIT. So groups are as
//! large as the load allows, and no load waits for a timer.

use std::sync::Arc;
use std::time::Instant;

use store::Shard;
use tokio::task::{JoinSet, yield_now};

use crate::group_commit::admission_control::AdmissionControl;
use crate::group_commit::group::{LoadGroup, MAX_GROUP_LOADS};
use crate::group_commit::pending_loads::PendingLoads;
use crate::group_commit::throughput::WrittenGroup;
use crate::group_commit::transaction::WriteMode;
use crate::group_commit::write_turn::{WriteTurn, WriteTurns};
use crate::group_commit::{QueueReceiver, QueueSender};

/// Each needs a connection. One is prepared while others commit; more than two only run if a
/// group is slow.
const MAX_GROUPS_IN_FLIGHT: usize = 4;
/// Measured: groups of 26 instead of 22 with 64 callers. It costs an idle process microseconds.
const YIELDS_BEFORE_GROUP: usize = 10;

/// Writes one group after another. With `blocked`, loads whose account is locked move to that
/// queue. Without it, the groups wait for the lock.
pub(super) async fn run_writer(
    shard: Arc<Shard>,
    mut queue: QueueReceiver,
    blocked: Option<QueueSender>,
) {
    let turns = WriteTurns::new();
    let mut pending = PendingLoads::default();
    let mut groups = JoinSet::new();
    let mut is_open = true;
    while is_open || !pending.is_empty() || !groups.is_empty() {
        let may_start = groups.len() < MAX_GROUPS_IN_FLIGHT && pending.has_free_load();
        tokio::select! {
            biased;
            Some(_) = groups.join_next() => pending.find_free_load(),
            received = queue.receiver.recv(), if is_open => match received {
                Some(load) => pending.push(load),
                None => is_open = false,
            },
            turn = turns.take(), if may_start => {
                receive_more(&mut queue, &mut pending).await;
                let max_loads = queue.admission.max_group_loads().min(MAX_GROUP_LOADS);
                let (group, claim) = pending.take_group(max_loads);
                let (shard, blocked) = (Arc::clone(&shard), blocked.clone());
                let admission = Arc::clone(&queue.admission);
                groups.spawn(async move {
                    write_group(&shard, group, blocked.as_ref(), &admission, turn).await;
                    drop(claim);
                });
            },
        }
    }
}

/// Loads that are about to be queued join the group: their tasks run first.
async fn receive_more(queue: &mut QueueReceiver, pending: &mut PendingLoads) {
    for _ in 0..YIELDS_BEFORE_GROUP {
        yield_now().await;
        while let Ok(load) = queue.receiver.try_recv() {
            pending.push(load);
        }
    }
}

async fn write_group(
    shard: &Shard,
    group: LoadGroup,
    blocked: Option<&QueueSender>,
    admission: &AdmissionControl,
    turn: WriteTurn,
) {
    let (size, oldest, begun) = (group.size(), group.oldest(), Instant::now());
    metrics::histogram!("longshore_group_commit_loads").record(f64::from(size));
    admission.begin_group(oldest);
    let mode = WriteMode {
        skips_locked_accounts: blocked.is_some(),
        is_slow: admission.is_slow_group(size),
    };
    let answered = group.write(shard, blocked, mode, turn).await;
    let written = WrittenGroup {
        size,
        answered,
        took: begun.elapsed(),
    };
    admission.end_group(oldest, written, Instant::now());
}
