//! Claims that a test makes directly, without a worker set.

use domain::time::Timestamp;
use store::shard::batch::{self, BatchClaimQuota, BatchQueue, ClaimedBatchRow};
use store::shard::node::{self, Claim};
use store::{Error, Shard};

/// Claims gathered batches of any lane for this node. The node joins first if it is not alive.
pub(crate) async fn claim_gathered(
    shard: &Shard,
    claim: Claim,
    max: usize,
    now: Timestamp,
) -> Result<Vec<ClaimedBatchRow>, Error> {
    match node::renew(shard, claim, 3600.0).await {
        Err(Error::Fenced) => assert_eq!(
            node::join(shard, claim.node, "by hand", 3600.0).await?,
            claim
        ),
        renewed => renewed?,
    }
    let quota = BatchClaimQuota {
        lanes: batch::list_due_lanes(shard, BatchQueue::Gathered, now).await?,
        max,
        only_sent: false,
    };
    batch::claim_gathered(shard, claim, &[quota], now).await
}
