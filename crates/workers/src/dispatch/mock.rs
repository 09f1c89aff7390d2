//! To the mock provider, which keeps nothing: a second submission is no harm.

use chrono::TimeDelta;
use domain::batch::MOST_TAKEOVERS;
use domain::model::Model;
use outbound::provider::{Provider, Submission, SubmitFailure};
use store::shard::batch;

use super::Submitter;
use crate::claimed::ClaimedBatch;
use crate::manifest::OpenItems;

/// A provider that did not take a batch is asked again after this.
const LATER: TimeDelta = TimeDelta::seconds(5);

impl Submitter {
    pub(super) async fn submit_to_mock(
        &self,
        claimed: &ClaimedBatch,
        model: &Model,
        mock: &dyn Provider,
    ) -> Result<(), store::Error> {
        let (batch, claim, now) = (&claimed.batch, claimed.claim, claimed.now);
        if batch.takeovers >= MOST_TAKEOVERS {
            return self.set_aside(claimed).await;
        }
        let submission = Submission {
            batch: batch.id,
            model: model.clone(),
        };
        // It takes a batch without looking at it.
        match mock
            .submit(&submission, &mut OpenItems::default(), now)
            .await
        {
            Ok(submitted) => {
                let (job, at) = (submitted.job.0, submitted.next_poll_at);
                batch::run(&self.shard, batch.id, claim, &job, at, now).await
            }
            Err(SubmitFailure::Refused(reason)) => self.fail(claimed, &reason).await,
            // Either way the intent stands: the next one asks before it sends again.
            Err(SubmitFailure::Unavailable(reason) | SubmitFailure::Unknown(reason)) => {
                tracing::warn!(batch.id = %batch.id, reason, "{} was not submitted", batch.id);
                batch::ask_again(&self.shard, batch.id, claim, now + LATER).await
            }
        }
    }
}
