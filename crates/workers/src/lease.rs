//! This process as a node of one shard: renewed every two seconds, dead after ten.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use store::Shard;
use store::shard::node::{self, Claim};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// A node renews five times in a lease.
const RENEWALS: u32 = 5;

/// Who this process is, for claims.
#[derive(Debug, Clone)]
pub(crate) struct Lease {
    shard: Arc<Shard>,
    node: Uuid,
    name: String,
    length: Duration,
    claim: Arc<RwLock<Claim>>,
}

impl Lease {
    pub(crate) async fn join(
        shard: Arc<Shard>,
        node: Uuid,
        name: String,
        length: Duration,
    ) -> Result<Self, store::Error> {
        let claim = node::join(&shard, node, &name, length.as_secs_f64()).await?;
        Ok(Self {
            shard,
            node,
            name,
            length,
            claim: Arc::new(RwLock::new(claim)),
        })
    }

    pub(crate) fn claim(&self) -> Claim {
        *self.claim.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Renews, and buries others, until told to stop.
    pub(crate) async fn keep(&self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            match self.renew().await {
                Ok(()) => {}
                Err(failure) => {
                    tracing::warn!(shard = %self.shard.name, failure = %failure, "the lease was not renewed");
                }
            }
            tokio::select! {
                () = tokio::time::sleep(self.length / RENEWALS) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    async fn renew(&self) -> Result<(), store::Error> {
        match node::renew(&self.shard, self.claim(), self.length.as_secs_f64()).await {
            Err(store::Error::Moved) => {
                // We were taken for dead. What we had claimed is someone else's now;
                // under the raised epoch we begin anew.
                let claim = node::join(
                    &self.shard,
                    self.node,
                    &self.name,
                    self.length.as_secs_f64(),
                )
                .await?;
                *self.claim.write().unwrap_or_else(PoisonError::into_inner) = claim;
            }
            other => other?,
        }
        for name in node::bury_dead(&self.shard).await? {
            tracing::warn!(shard = %self.shard.name, node.name = name, "a node is dead: its claims are free");
        }
        Ok(())
    }

    pub(crate) async fn leave(&self) -> Result<(), store::Error> {
        node::leave(&self.shard, self.claim()).await
    }
}
