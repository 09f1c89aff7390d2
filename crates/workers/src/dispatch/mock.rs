//! Submits to the mock provider. It keeps no state, so a second submission does no harm.

use chrono::TimeDelta;
use domain::batch::MAX_TAKEOVERS;
use domain::model::Model;
use domain::reason_code::FailureCode;
use outbound::provider::{BatchSubmission, Provider, SubmitFailure};
use store::shard::batch;

use super::Submitter;
use crate::claimed_batch::ClaimedBatch;
use crate::stored_requests::OpenItems;

/// How long until a batch is submitted again that the mock did not take.
const MOCK_RETRY_DELAY: TimeDelta = TimeDelta::seconds(5);

impl Submitter {
    pub(super) async fn submit_to_mock(
        &self,
        claimed: &ClaimedBatch,
        model: &Model,
        mock: &dyn Provider,
    ) -> Result<(), store::Error> {
        let (batch, claim, now) = (&claimed.batch, claimed.claim, claimed.claimed_at);
        if batch.takeovers >= MAX_TAKEOVERS {
            return self.isolate_poison_pill(claimed).await;
        }
        let submission = BatchSubmission {
            batch: batch.id,
            model: model.clone(),
        };
        // The mock does not read the items when it takes a batch.
        match mock
            .submit(&submission, &mut OpenItems::default(), now)
            .await
        {
            Ok(submitted) => {
                let (job, at) = (submitted.job.0, submitted.next_poll_at);
                batch::mark_running(&self.shard, batch.id, claim, &job, at, now).await
            }
            Err(SubmitFailure::Refused(reason)) => {
                let failure = FailureCode::BatchRejected.with_message(reason);
                self.fail_batch(claimed, failure).await
            }
            // The recorded intent stays in both cases.
            Err(SubmitFailure::Unavailable(reason) | SubmitFailure::Indeterminate(reason)) => {
                tracing::warn!(batch.id = %batch.id, reason, "a batch was not submitted to the mock and will be tried again");
                batch::reschedule(&self.shard, batch.id, claim, now + MOCK_RETRY_DELAY).await
            }
        }
    }
}
