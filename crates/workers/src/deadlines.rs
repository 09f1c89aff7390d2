//! Fails cargo past its deadline in batches that no provider has. Sweep fails the waiting cargo.

use domain::cargo::CARGO_DEADLINE;
use domain::id;
use domain::reason_code::FailureCode;
use domain::time::Timestamp;
use store::Shard;
use store::shard::batch::ClaimedBatchRow;
use store::shard::manifest;
use store::shard::node::Claim;

use crate::outcome_writer::{self, FinishedCargo};

/// The error of cargo that no provider had at its deadline.
pub(crate) const DEADLINE_PASSED: &str = "the deadline of 24 hours has passed";

pub(crate) async fn fail_overdue(
    shard: &Shard,
    batch: &ClaimedBatchRow,
    claim: Claim,
    now: Timestamp,
) -> Result<(), store::Error> {
    let before = id::first_id_at(now - CARGO_DEADLINE);
    if batch.cargo.iter().all(|cargo| cargo.uuid() >= before) {
        return Ok(());
    }
    let heads = manifest::list_open(shard, batch.id, &batch.cargo).await?;
    let late = heads.into_iter().filter(|it| it.cargo.uuid() < before);
    let failure = || FailureCode::DeadlineExceeded.with_message(DEADLINE_PASSED);
    let failed = late.map(|head| FinishedCargo::failed(head, failure()));
    outcome_writer::store_outcomes(shard, batch.id, claim, None, failed.collect(), now).await?;
    Ok(())
}
