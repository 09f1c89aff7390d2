//! Cancels cargo whose caller asked for it while a provider had it, instead of sending it again.

use domain::reason_code::FailureCode;
use domain::time::Timestamp;
use store::Shard;
use store::shard::cancel::{self, CANCELLED};
use store::shard::manifest::OpenCargo;

use crate::claimed_batch::ClaimedBatch;
use crate::outcome_writer::FinishedCargo;

impl ClaimedBatch {
    /// The open cargo of a batch that no provider has. What is to be cancelled is cancelled now.
    pub(crate) async fn list_to_send(
        &self,
        now: Timestamp,
    ) -> Result<Vec<OpenCargo>, store::Error> {
        let open = self.list_open().await?;
        let (unwanted, open): (Vec<OpenCargo>, Vec<OpenCargo>) =
            open.into_iter().partition(|head| head.is_cancel_requested);
        if unwanted.is_empty() {
            return Ok(open);
        }
        let count = unwanted.len() as u64;
        let failure = FailureCode::Cancelled.with_message(CANCELLED);
        let failed = unwanted.into_iter();
        let failed = failed.map(|head| FinishedCargo::failed(head, failure.clone()));
        self.store_failures(failed.collect(), now).await?;
        count_cancelled(self.shard(), count);
        Ok(open)
    }

    /// Cancels cargo that this batch has requeued although its caller asked to cancel it. What this
    /// misses is cancelled before it is sent again.
    pub(crate) async fn cancel_returned(&self, now: Timestamp) {
        match cancel::cancel_returned(self.shard(), &self.batch.cargo, now).await {
            Ok(count) => count_cancelled(self.shard(), count),
            Err(failure) => {
                tracing::warn!(batch.id = %self.batch.id, failure = failure.diagnosis(), "requeued cargo could not be cancelled: it is cancelled when it is dispatched");
            }
        }
    }
}

pub(crate) fn count_cancelled(shard: &Shard, count: u64) {
    metrics::counter!("longshore_cargo_cancelled_total", "shard" => shard.name.to_string())
        .increment(count);
}
