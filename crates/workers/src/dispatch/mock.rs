//! To the mock provider, which keeps nothing: a second submission is no harm.

use chrono::TimeDelta;
use domain::batch::MOST_TAKEOVERS;
use domain::model::Model;
use outbound::provider::{Provider, Submission, SubmitFailure};
use store::shard::batch;

use super::{Dispatch, Load};
use crate::manifest::BatchManifest;

/// A provider that did not take a batch is asked again after this.
const LATER: TimeDelta = TimeDelta::seconds(5);

impl Dispatch {
    pub(super) async fn submit_to_mock(
        &self,
        load: &Load<'_>,
        model: &Model,
        mock: &dyn Provider,
    ) -> Result<(), store::Error> {
        let Load {
            batch, claim, now, ..
        } = *load;
        if batch.takeovers >= MOST_TAKEOVERS {
            return self.set_aside(load).await;
        }
        let submission = Submission {
            batch: batch.id,
            model: model.clone(),
        };
        let mut items = BatchManifest::new(&self.shard, batch.id, &batch.cargo);
        match mock.submit(&submission, &mut items, now).await {
            Ok(submitted) => {
                let (job, at) = (submitted.job.0, submitted.next_poll_at);
                batch::run(&self.shard, batch.id, claim, &job, at, now).await
            }
            Err(SubmitFailure::Refused(reason)) => self.fail(load, &reason).await,
            // Either way the intent stands: the next one asks before it sends again.
            Err(SubmitFailure::Unavailable(reason) | SubmitFailure::Unknown(reason)) => {
                tracing::warn!(batch.id = %batch.id, reason, "{} was not submitted", batch.id);
                batch::ask_again(&self.shard, batch.id, claim, now + LATER).await
            }
        }
    }
}
