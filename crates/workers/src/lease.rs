//! The lease of this process as a node of one shard: renewed every two seconds, expired after ten.
//!
//! The heartbeat has a separate task and connection. Taking over the claims of dead nodes runs in
//! another task, so that a slow takeover never costs a living node its lease.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use store::Shard;
use store::shard::node::{self, Claim};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

/// How often a node renews within the duration of a lease.
const RENEWALS_PER_LEASE: u32 = 5;
/// How often claims without a living owner are freed, also when no node has died.
const ORPHAN_CHECK_INTERVAL: Duration = Duration::from_secs(4);

/// The identity under which this process claims work.
#[derive(Debug, Clone)]
pub struct Lease {
    shard: Arc<Shard>,
    node: Uuid,
    name: String,
    is_worker: bool,
    duration: Duration,
    state: Arc<RwLock<LeaseState>>,
}

#[derive(Debug, Clone)]
struct LeaseState {
    claim: Claim,
    /// By the local clock, and earlier than peers may declare this node dead.
    alive_until: Instant,
    /// Cancelled when the claim is lost or may be lost. Calls to other machines end with it.
    token: CancellationToken,
}

impl Lease {
    /// Joins as a worker that claims work, or as a node that only shows its peers that it is alive.
    pub async fn join(
        shard: Arc<Shard>,
        node: Uuid,
        name: String,
        works: bool,
        length: Duration,
    ) -> Result<Self, store::Error> {
        let began = Instant::now();
        let claim = join_node(&shard, node, &name, works, length).await?;
        let held = LeaseState {
            claim,
            alive_until: began + trusted_duration(length),
            token: CancellationToken::new(),
        };
        Ok(Self {
            shard,
            node,
            name,
            is_worker: works,
            duration: length,
            state: Arc::new(RwLock::new(held)),
        })
    }

    pub(crate) fn claim(&self) -> Claim {
        self.snapshot().claim
    }

    /// The claim, and a token that is cancelled when peers may have declared this node dead.
    ///
    /// After that, the node starts nothing that a dead node must not do (create a job, send a
    /// callback), and aborts what is running.
    pub fn claim_and_token(&self) -> (Claim, CancellationToken) {
        self.check_deadline();
        let held = self.snapshot();
        (held.claim, held.token)
    }

    /// Cancels the token if the deadline has passed. Called before each call to another machine: a
    /// process that was frozen may continue its old work before the timer of the deadline fires.
    pub(crate) fn check_deadline(&self) {
        let held = self.snapshot();
        if held.alive_until <= Instant::now() {
            held.token.cancel();
        }
    }

    /// Starts the heartbeat and the takeover task.
    pub fn spawn(&self, tracker: &TaskTracker, stop: &CancellationToken) {
        let (lease, stop) = (self.clone(), stop.clone());
        let (other, also) = (self.clone(), stop.clone());
        tracker.spawn(async move { lease.run_heartbeat(stop).await });
        tracker.spawn(async move { other.run_takeover(also).await });
    }

    /// Renews the lease until `stop` is cancelled.
    async fn run_heartbeat(&self, stop: CancellationToken) {
        let mut renewed_at = Instant::now();
        loop {
            let due = tokio::time::sleep_until(renewed_at + self.duration / RENEWALS_PER_LEASE);
            tokio::select! {
                () = self.watch_deadline(due) => {}
                () = stop.cancelled() => break,
            }
            renewed_at = Instant::now();
            if let Err(failure) = self.watch_deadline(self.renew()).await {
                tracing::warn!(shard = %self.shard.name, failure = %failure, "the lease could not be renewed and will be tried again");
            }
        }
    }

    /// Waits for `future`, and meanwhile ends the claim at its deadline: a renewal that waits for an
    /// answer keeps no node alive.
    async fn watch_deadline<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        loop {
            let held = self.snapshot();
            tokio::select! {
                output = &mut future => return output,
                () = tokio::time::sleep_until(held.alive_until), if !held.token.is_cancelled() => {
                    held.token.cancel();
                    tracing::warn!(shard = %self.shard.name, "the lease expired before it was renewed: running work is aborted");
                }
            }
        }
    }

    /// Renews once. A node that peers declared dead joins again under a new epoch.
    ///
    /// So does one whose lease expired by the local clock, even when no peer has noticed: its work
    /// was aborted, and only a new epoch frees all claims of that work.
    pub async fn renew(&self) -> Result<(), store::Error> {
        let began = Instant::now();
        let (current, token) = self.claim_and_token();
        if !token.is_cancelled() {
            let renewed = node::renew(&self.shard, current, self.duration.as_secs_f64()).await;
            // The deadline may have passed while the answer was awaited.
            let is_expired = self.claim_and_token().1.is_cancelled();
            match renewed {
                Ok(()) if !is_expired => {
                    self.state.write().alive_until = began + trusted_duration(self.duration);
                    return Ok(());
                }
                Ok(()) | Err(store::Error::Fenced) => {}
                Err(failure) => return Err(failure),
            }
        }
        self.join_again(&token).await
    }

    async fn join_again(&self, token: &CancellationToken) -> Result<(), store::Error> {
        token.cancel();
        tracing::warn!(shard = %self.shard.name, "the lease was lost: this node joins again without its claims");
        let began = Instant::now();
        let (node, name) = (self.node, &self.name);
        let claim = join_node(&self.shard, node, name, self.is_worker, self.duration).await?;
        *self.state.write() = LeaseState {
            claim,
            alive_until: began + trusted_duration(self.duration),
            token: CancellationToken::new(),
        };
        Ok(())
    }

    /// Frees the claims of dead nodes until `stop` is cancelled.
    async fn run_takeover(&self, stop: CancellationToken) {
        let mut orphans_at = Instant::now();
        while !stop.is_cancelled() {
            if let Err(failure) = self.free_dead_claims(&mut orphans_at).await {
                tracing::warn!(shard = %self.shard.name, failure = %failure, "claims of dead nodes could not be freed and will be tried again");
            }
            tokio::select! {
                () = tokio::time::sleep(self.duration / RENEWALS_PER_LEASE) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    async fn free_dead_claims(&self, orphans_at: &mut Instant) -> Result<(), store::Error> {
        self.fence_expired_nodes().await?;
        if Instant::now() >= *orphans_at {
            self.free_orphaned_claims().await?;
            *orphans_at = Instant::now() + ORPHAN_CHECK_INTERVAL;
        }
        Ok(())
    }

    /// Ends the epochs of nodes whose lease has expired, and frees their claims.
    pub async fn fence_expired_nodes(&self) -> Result<(), store::Error> {
        let dead = node::fence_expired_nodes(&self.shard).await?;
        for name in &dead {
            tracing::warn!(shard = %self.shard.name, node.name = name, "a node is dead: its claims were freed");
        }
        Ok(())
    }

    /// Frees claims without a living owner, also when no node has died.
    pub async fn free_orphaned_claims(&self) -> Result<(), store::Error> {
        let freed = node::free_orphaned_claims(&self.shard).await?;
        metrics::counter!("longshore_orphaned_claims_freed_total", "shard" => self.shard.name.to_string())
            .increment(freed);
        if freed > 0 {
            tracing::warn!(shard = %self.shard.name, freed, "claims without a living owner were freed");
        }
        Ok(())
    }

    pub async fn leave(&self) -> Result<(), store::Error> {
        node::leave(&self.shard, self.claim()).await
    }

    fn snapshot(&self) -> LeaseState {
        self.state.read().clone()
    }
}

async fn join_node(
    shard: &Shard,
    node: Uuid,
    name: &str,
    works: bool,
    length: Duration,
) -> Result<Claim, store::Error> {
    let seconds = length.as_secs_f64();
    if works {
        node::join(shard, node, name, seconds).await
    } else {
        node::join_without_claims(shard, node, name, seconds).await
    }
}

/// The part of a lease that this node relies on. Peers wait for all of it.
fn trusted_duration(length: Duration) -> Duration {
    length.mul_f64(0.8)
}
