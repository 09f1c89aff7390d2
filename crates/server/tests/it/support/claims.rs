//! Claims that a test makes by itself, without a crew.

use domain::time::Timestamp;
use store::shard::batch::{self, Claimed, Queue, Turn};
use store::shard::node::{self, Claim};
use store::{Error, Shard};

/// Claims batches that are to be submitted, of any lane, as a node that lives.
pub(crate) async fn claim_gathered(
    shard: &Shard,
    claim: Claim,
    most: usize,
    now: Timestamp,
) -> Result<Vec<Claimed>, Error> {
    if node::renew(shard, claim, 3600.0).await.is_err() {
        assert_eq!(
            node::join(shard, claim.node, "by hand", 3600.0).await?,
            claim
        );
    }
    let turn = Turn {
        lanes: batch::due_lanes(shard, Queue::Gathered, now).await?,
        most,
        only_sent: false,
    };
    batch::claim_gathered(shard, claim, &[turn], now).await
}
