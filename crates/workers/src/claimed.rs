//! A batch that this process has claimed, and all that is known of its way.

use std::sync::Arc;

use domain::lane::Lane;
use domain::model::Model;
use domain::time::Timestamp;
use outbound::provider::call::CallFailure;
use store::shard::batch::Claimed;
use store::shard::node::Claim;
use tokio_util::sync::CancellationToken;

use crate::accounts::{Accounts, Probe};
use crate::tasks::UnderWay;

#[derive(Debug)]
pub(crate) struct ClaimedBatch {
    pub(crate) batch: Claimed,
    pub(crate) lane: Arc<Lane>,
    pub(crate) model: Option<Model>,
    pub(crate) claim: Claim,
    /// When it was claimed.
    pub(crate) now: Timestamp,
    /// Cancelled when the lease under which it was claimed is lost.
    pub(crate) lost: CancellationToken,
    pub(crate) accounts: Arc<Accounts>,
    /// Held while it is worked on.
    pub(crate) _probe: Option<Probe>,
}

impl ClaimedBatch {
    /// Makes a control call to the provider, unless the lease is lost meanwhile: then the batch
    /// belongs to another worker, and what the call came to is not known.
    pub(crate) async fn call<T>(
        &self,
        call: impl Future<Output = Result<T, CallFailure>>,
    ) -> Result<Result<T, CallFailure>, store::Error> {
        let ended = self.while_held(call).await?;
        self.accounts.judge(&self.lane.provider, &ended);
        Ok(ended)
    }

    /// What is remembered of it while its task works on it.
    pub(crate) fn under_way(&self) -> UnderWay {
        UnderWay {
            batch: self.batch.id,
            account: self.lane.provider.clone(),
            claim: self.claim,
        }
    }

    /// Waits for anything outside, unless the lease is lost meanwhile.
    pub(crate) async fn while_held<T>(
        &self,
        outside: impl Future<Output = T>,
    ) -> Result<T, store::Error> {
        while_held(&self.lost, outside).await
    }
}

async fn while_held<T>(
    lost: &CancellationToken,
    outside: impl Future<Output = T>,
) -> Result<T, store::Error> {
    tokio::select! {
        // First: a process that was frozen must not go on with what it had begun.
        biased;
        () = lost.cancelled() => Err(store::Error::Moved),
        ended = outside => Ok(ended),
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_call_ends_with_the_lease() {
        let lost = CancellationToken::new();
        assert!(matches!(while_held(&lost, ready(7)).await, Ok(7)));
        let mut hanging = std::pin::pin!(while_held(&lost, pending::<()>()));
        assert!((&mut hanging).now_or_never().is_none());
        lost.cancel();
        assert!(matches!(hanging.await, Err(store::Error::Moved)));
        let thawed = while_held(&lost, ready(7)).await;
        assert!(matches!(thawed, Err(store::Error::Moved)));
    }
}
