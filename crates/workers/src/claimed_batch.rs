//! A batch that this process has claimed, with what dispatch, collect and stream need for it.

use std::path::PathBuf;
use std::sync::Arc;

use chrono::TimeDelta;
use domain::lane::Lane;
use domain::model::{Catalogue, Model};
use domain::time::Timestamp;
use outbound::object_store::ObjectStore;
use outbound::otlp::Tracer;
use outbound::provider::client::ProviderCallFailure;
use store::Shard;
use store::shard::batch::{self, ClaimedBatchRow};
use store::shard::manifest::{self, OpenCargo};
use store::shard::node::Claim;
use store::shard::provider;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::account_states::{AccountStates, BreakerProbe, account_key};
use crate::callback_slots::CallbackSlots;
use crate::failpoint;
use crate::lease::Lease;
use crate::providers::Providers;

/// How long an account is paused that rejects its credential or is out of credit. After this it is
/// tried again without an operator.
const ACCOUNT_PAUSE_DURATION: TimeDelta = TimeDelta::minutes(5);

/// What dispatch, collect and stream share.
#[derive(Debug)]
pub(crate) struct BatchDeps {
    pub(crate) shard: Arc<Shard>,
    pub(crate) accounts: Arc<AccountStates>,
    pub(crate) catalogue: watch::Receiver<Arc<Catalogue>>,
    pub(crate) providers: Arc<Providers>,
    pub(crate) callback_slots: CallbackSlots,
    /// Holds the files that messages reference.
    pub(crate) objects: Option<ObjectStore>,
    /// The directory for jobs while they are packed and for results while they are read.
    pub(crate) spool_dir: PathBuf,
    /// None: tracing is off.
    pub(crate) tracer: Option<Tracer>,
}

#[derive(Debug)]
pub(crate) struct ClaimedBatch {
    pub(crate) deps: Arc<BatchDeps>,
    pub(crate) batch: ClaimedBatchRow,
    pub(crate) lane: Arc<Lane>,
    pub(crate) model: Option<Model>,
    pub(crate) claim: Claim,
    pub(crate) claimed_at: Timestamp,
    pub(crate) lease: Lease,
    /// Cancelled when the lease under which it was claimed is lost.
    pub(crate) lease_lost: CancellationToken,
    /// The probe of an open circuit breaker, held until the batch is done.
    pub(crate) probe: Option<BreakerProbe>,
}

impl ClaimedBatch {
    pub(crate) fn shard(&self) -> &Shard {
        &self.deps.shard
    }

    /// The name under which the state of its account is kept.
    pub(crate) fn account_key(&self) -> String {
        account_key(&self.lane)
    }

    /// Passes a failpoint of this batch's provider.
    pub(crate) fn failpoint(&self, name: &'static str) {
        failpoint::point(name, &self.lane.provider);
    }

    /// Makes a control call to the provider and records its result in the circuit breaker. If the
    /// lease is lost meanwhile, another worker has the batch and the result of the call is unknown.
    pub(crate) async fn call_provider<T>(
        &self,
        call: impl Future<Output = Result<T, ProviderCallFailure>>,
    ) -> Result<Result<T, ProviderCallFailure>, store::Error> {
        let ended = self.run_while_leased(call).await?;
        let accounts = &self.deps.accounts;
        accounts.record_call(&self.account_key(), &ended);
        Ok(ended)
    }

    /// Waits for a future until the lease is lost.
    pub(crate) async fn run_while_leased<T>(
        &self,
        outside: impl Future<Output = T>,
    ) -> Result<T, store::Error> {
        self.lease.check_deadline();
        while_held(&self.lease_lost, outside).await
    }

    /// The cargo without an outcome.
    pub(crate) async fn list_open(&self) -> Result<Vec<OpenCargo>, store::Error> {
        manifest::list_open(self.shard(), self.batch.id, &self.batch.cargo).await
    }

    /// Releases the claim. Any node may claim the batch again at this time.
    pub(crate) async fn reschedule(&self, at: Timestamp) -> Result<(), store::Error> {
        batch::reschedule(self.shard(), self.batch.id, self.claim, at).await
    }

    /// Pauses the batch's provider account on this shard; returns when it is tried again.
    pub(crate) async fn pause_account(
        &self,
        reason: &str,
        now: Timestamp,
    ) -> Result<Timestamp, store::Error> {
        let (name, retry_at) = (&self.lane.provider, now + ACCOUNT_PAUSE_DURATION);
        provider::pause(self.shard(), name, reason, Some(retry_at), now).await?;
        Ok(retry_at)
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
