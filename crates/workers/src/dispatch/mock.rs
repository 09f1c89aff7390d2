//! Submits to the mock provider. It keeps no state, so a second submission does no harm.

use domain::batch::MAX_TAKEOVERS;
use outbound::provider::mock::MockProvider;
use store::shard::batch;

use super::Submitter;
use crate::claimed_batch::ClaimedBatch;

impl Submitter {
    pub(super) async fn submit_to_mock(&self, claimed: &ClaimedBatch) -> Result<(), store::Error> {
        let (batch, claim, now) = (&claimed.batch, claimed.claim, claimed.claimed_at);
        if batch.takeovers >= MAX_TAKEOVERS {
            return self.isolate_poison_pill(claimed).await;
        }
        let job = MockProvider::job_id(batch.id).0;
        batch::mark_running(&self.shard, batch.id, claim, &job, now, now).await
    }
}
