//! This process as a node of one shard: renewed every two seconds, dead after ten.
//!
//! Renewing has a task and a connection of its own. Freeing what dead nodes had claimed has
//! another: however long that takes, no living node loses its lease.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use store::Shard;
use store::shard::node::{self, Claim};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

/// A node renews five times in a lease.
const RENEWALS: u32 = 5;
/// How often claims without a living owner are looked for, also when no node has died.
const ORPHANS_INTERVAL: Duration = Duration::from_secs(4);

/// Who this process is, for claims.
#[derive(Debug, Clone)]
pub struct Lease {
    shard: Arc<Shard>,
    node: Uuid,
    name: String,
    works: bool,
    length: Duration,
    held: Arc<RwLock<Held>>,
}

#[derive(Debug, Clone)]
struct Held {
    claim: Claim,
    /// By our own clock, and earlier than others may take us for dead.
    alive_until: Instant,
    /// Cancelled when the claim is lost or may be: calls to others end with it.
    token: CancellationToken,
}

impl Lease {
    /// As a node that claims work, or as one that is only known to its peers.
    pub async fn join(
        shard: Arc<Shard>,
        node: Uuid,
        name: String,
        works: bool,
        length: Duration,
    ) -> Result<Self, store::Error> {
        let asked = Instant::now();
        let claim = enter(&shard, node, &name, works, length).await?;
        let held = Held {
            claim,
            alive_until: asked + trusted(length),
            token: CancellationToken::new(),
        };
        Ok(Self {
            shard,
            node,
            name,
            works,
            length,
            held: Arc::new(RwLock::new(held)),
        })
    }

    pub(crate) fn claim(&self) -> Claim {
        self.read().claim
    }

    /// Cancelled when this node may have been taken for dead. Whatever must not be done by a dead
    /// node (create a job, send a callback) is not begun after that, and ended by it.
    pub(crate) fn token(&self) -> CancellationToken {
        let held = self.read();
        if held.alive_until <= Instant::now() {
            held.token.cancel();
        }
        held.token
    }

    /// Starts both tasks.
    pub fn spawn(&self, tracker: &TaskTracker, stop: &CancellationToken) {
        let (lease, stop) = (self.clone(), stop.clone());
        let (other, also) = (self.clone(), stop.clone());
        tracker.spawn(async move { lease.keep(stop).await });
        tracker.spawn(async move { other.free_others(also).await });
    }

    /// Renews until told to stop.
    async fn keep(&self, stop: CancellationToken) {
        let mut renewed_at = Instant::now();
        while !stop.is_cancelled() {
            tokio::select! {
                () = tokio::time::sleep_until(renewed_at + self.length / RENEWALS) => {}
                () = tokio::time::sleep_until(self.read().alive_until), if !self.read().token.is_cancelled() => {
                    self.read().token.cancel();
                    tracing::warn!(shard = %self.shard.name, "the lease was not renewed in time: work under way is given up");
                    continue;
                }
                () = stop.cancelled() => break,
            }
            renewed_at = Instant::now();
            if let Err(failure) = self.renew().await {
                tracing::warn!(shard = %self.shard.name, failure = %failure, "the lease was not renewed");
            }
        }
    }

    /// Renews once. A node that was taken for dead joins again, under a new epoch.
    pub async fn renew(&self) -> Result<(), store::Error> {
        let asked = Instant::now();
        let seconds = self.length.as_secs_f64();
        let claim = self.claim();
        let claim = match node::renew(&self.shard, claim, seconds).await {
            Ok(()) => claim,
            Err(store::Error::Moved) => {
                self.read().token.cancel();
                tracing::warn!(shard = %self.shard.name, "this node was taken for dead: its claims are lost");
                enter(&self.shard, self.node, &self.name, self.works, self.length).await?
            }
            Err(failure) => return Err(failure),
        };
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        held.claim = claim;
        held.alive_until = asked + trusted(self.length);
        if held.token.is_cancelled() {
            held.token = CancellationToken::new();
        }
        Ok(())
    }

    /// Frees what dead nodes had claimed, until told to stop.
    async fn free_others(&self, stop: CancellationToken) {
        let mut orphans_at = Instant::now();
        while !stop.is_cancelled() {
            if let Err(failure) = self.bury(&mut orphans_at).await {
                tracing::warn!(shard = %self.shard.name, failure = %failure, "claims of dead nodes were not freed yet");
            }
            tokio::select! {
                () = tokio::time::sleep(self.length / RENEWALS) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    async fn bury(&self, orphans_at: &mut Instant) -> Result<(), store::Error> {
        self.bury_dead().await?;
        if Instant::now() >= *orphans_at {
            self.free_orphans().await?;
            *orphans_at = Instant::now() + ORPHANS_INTERVAL;
        }
        Ok(())
    }

    /// Ends the epochs of nodes whose lease has run out, and frees their claims.
    pub async fn bury_dead(&self) -> Result<(), store::Error> {
        let dead = node::bury_dead(&self.shard).await?;
        for name in &dead {
            tracing::warn!(shard = %self.shard.name, node.name = name, "a node is dead: its claims are free");
        }
        Ok(())
    }

    /// Frees claims without a living owner, also when no node has died.
    pub async fn free_orphans(&self) -> Result<(), store::Error> {
        let freed = node::free_orphans(&self.shard).await?;
        if freed > 0 {
            metrics::counter!("claims_freed_total", "shard" => self.shard.name.to_string())
                .increment(freed);
            tracing::warn!(shard = %self.shard.name, freed, "claims without a living owner are free again");
        }
        Ok(())
    }

    pub async fn leave(&self) -> Result<(), store::Error> {
        node::leave(&self.shard, self.claim()).await
    }

    fn read(&self) -> Held {
        self.held
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

async fn enter(
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
        node::attend(shard, node, name, seconds).await
    }
}

/// Of a lease, how much this node relies on: others wait for all of it.
fn trusted(length: Duration) -> Duration {
    length.mul_f64(0.8)
}
