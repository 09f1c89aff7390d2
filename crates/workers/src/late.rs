//! Cargo in a batch that no provider works on: at its deadline it fails, as it does outside of one.

use domain::cargo::DEADLINE;
use domain::id;
use domain::time::Timestamp;
use store::Shard;
use store::shard::batch::Claimed;
use store::shard::manifest;
use store::shard::node::Claim;

use crate::storing::{self, Finished};

/// What a caller is told whose cargo was never taken by a provider.
pub(crate) const TOO_LATE: &str = "the deadline of 24 hours has passed";

pub(crate) async fn fail_overdue(
    shard: &Shard,
    batch: &Claimed,
    claim: Claim,
    now: Timestamp,
) -> Result<(), store::Error> {
    let before = id::floor(now - DEADLINE);
    if batch.cargo.iter().all(|cargo| cargo.uuid() >= before) {
        return Ok(());
    }
    let heads = manifest::heads(shard, batch.id, &batch.cargo).await?;
    let late = heads.into_iter().filter(|it| it.cargo.uuid() < before);
    let failed = late.map(|head| Finished::failed(head, TOO_LATE.to_owned()));
    storing::store(shard, batch.id, claim, None, failed.collect(), now).await?;
    Ok(())
}
