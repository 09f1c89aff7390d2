//! How a claimed batch ends: its open cargo is requeued or fails.

use domain::id::CargoId;
use domain::reason_code::CargoFailure;
use domain::time::Timestamp;
use store::shard::batch::{self, RequeuePlan};
use store::shard::earlier_cost::BilledAttempt;

use crate::claimed_batch::ClaimedBatch;
use crate::outcome_writer::FinishedCargo;
use crate::requeue::{RequeueTiming, plan_requeue};

#[derive(Debug)]
pub(crate) enum BatchEnd {
    /// Open cargo is requeued.
    Requeue(RequeueTiming),
    /// As `Requeue`, after a job: its account may take more tokens.
    JobOver(RequeueTiming),
    /// As `Requeue` after a backoff, but this cargo was not run: it keeps its way and its attempt,
    /// and may be gathered at these times.
    Refused(Vec<(CargoId, Timestamp)>),
    /// Open cargo fails for this reason.
    Fail(CargoFailure),
}

impl ClaimedBatch {
    pub(crate) async fn end(&self, end: BatchEnd, now: Timestamp) -> Result<(), store::Error> {
        self.end_billed(end, &[], now).await
    }

    /// As `end`, after attempts without an outcome that the provider bills.
    pub(crate) async fn end_billed(
        &self,
        end: BatchEnd,
        billed: &[BilledAttempt],
        now: Timestamp,
    ) -> Result<(), store::Error> {
        let is_job_over = matches!(end, BatchEnd::JobOver(_));
        let plan = match end {
            BatchEnd::Requeue(timing) | BatchEnd::JobOver(timing) => {
                plan_requeue(self, timing, now).await?
            }
            BatchEnd::Refused(kept) => RequeuePlan {
                kept,
                ..plan_requeue(self, RequeueTiming::AfterBackoff, now).await?
            },
            BatchEnd::Fail(failure) => {
                let open = self.list_open().await?.into_iter();
                let failed = open.map(|head| FinishedCargo::failed(head, failure.clone()));
                self.store_failures(failed.collect(), now).await?;
                RequeuePlan::default()
            }
        };
        if is_job_over {
            self.failpoint("collect.ending");
        }
        let (shard, batch, claim) = (self.shard(), self.batch.id, self.claim);
        let trace = self.read_trace().await;
        let returned = batch::end_billed(shard, batch, claim, plan, billed, now).await?;
        if let Some(trace) = &trace {
            self.trace_requeued(trace, now);
            self.trace_batch(trace, now);
        }
        if returned > 0 {
            self.cancel_returned(now).await;
        }
        if is_job_over {
            self.failpoint("collect.ended");
            self.deps.accounts.clear_full(&self.lane.provider);
            if returned > 0 {
                tracing::warn!(batch.id = %self.batch.id, returned, "a batch ended with cargo without an outcome: it is requeued");
            }
        }
        Ok(())
    }
}
