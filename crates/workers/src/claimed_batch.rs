//! A batch that this process has claimed, with its lane, model and claim.

use std::sync::Arc;

use domain::lane::Lane;
use domain::model::Model;
use domain::time::Timestamp;
use outbound::provider::client::ProviderCallFailure;
use store::shard::batch::ClaimedBatchRow;
use store::shard::node::Claim;
use tokio_util::sync::CancellationToken;

use crate::account_states::{AccountStates, BreakerProbe};
use crate::batch_tasks::BatchTask;

#[derive(Debug)]
pub(crate) struct ClaimedBatch {
    pub(crate) batch: ClaimedBatchRow,
    pub(crate) lane: Arc<Lane>,
    pub(crate) model: Option<Model>,
    pub(crate) claim: Claim,
    pub(crate) claimed_at: Timestamp,
    /// Cancelled when the lease under which it was claimed is lost.
    pub(crate) lease_lost: CancellationToken,
    pub(crate) accounts: Arc<AccountStates>,
    /// Held until the batch is done.
    pub(crate) _probe: Option<BreakerProbe>,
}

impl ClaimedBatch {
    /// Makes a control call to the provider and records its result in the circuit breaker. If the
    /// lease is lost meanwhile, another worker has the batch and the result of the call is unknown.
    pub(crate) async fn call_provider<T>(
        &self,
        call: impl Future<Output = Result<T, ProviderCallFailure>>,
    ) -> Result<Result<T, ProviderCallFailure>, store::Error> {
        let ended = self.run_while_leased(call).await?;
        self.accounts.record_call(&self.lane.provider, &ended);
        Ok(ended)
    }

    /// What `BatchTasks` keeps while the task runs.
    pub(crate) fn batch_task(&self) -> BatchTask {
        BatchTask {
            batch: self.batch.id,
            account: self.lane.provider.clone(),
            claim: self.claim,
        }
    }

    /// Waits for a future until the lease is lost.
    pub(crate) async fn run_while_leased<T>(
        &self,
        outside: impl Future<Output = T>,
    ) -> Result<T, store::Error> {
        while_held(&self.lease_lost, outside).await
    }
}

async fn while_held<T>(
    lost: &CancellationToken,
    outside: impl Future<Output = T>,
) -> Result<T, store::Error> {
    tokio::select! {
        // First, because a process that was frozen must not continue its old work.
        biased;
        () = lost.cancelled() => Err(store::Error::Fenced),
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
        assert!(matches!(hanging.await, Err(store::Error::Fenced)));
        let thawed = while_held(&lost, ready(7)).await;
        assert!(matches!(thawed, Err(store::Error::Fenced)));
    }
}
