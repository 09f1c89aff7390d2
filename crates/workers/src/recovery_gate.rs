//! Keeps the stages from running until the rows were compared under the lease that is held now.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::lease::Lease;

/// Open while the rows are proven to be the ones that this process may work on.
#[derive(Debug, Clone)]
pub(crate) struct RecoveryGate {
    lease: Lease,
    /// The token of the lease under which the rows were compared. The claim would not do: a
    /// restored database may not know this node, and gives it its first epoch again.
    verified: Arc<Mutex<Option<CancellationToken>>>,
}

impl RecoveryGate {
    pub(crate) fn new(lease: Lease) -> Self {
        Self {
            lease,
            verified: Arc::default(),
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        // Cancels the token of a lease that has expired.
        self.lease.claim_and_token();
        let verified = self.verified.lock();
        verified.as_ref().is_some_and(|held| !held.is_cancelled())
    }

    pub(crate) fn open(&self, held: CancellationToken) {
        *self.verified.lock() = Some(held);
    }

    pub(crate) fn close(&self) {
        *self.verified.lock() = None;
    }
}
