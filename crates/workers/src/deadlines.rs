//! Fails cargo past its deadline in batches that no provider has. Sweep fails the waiting cargo.

use domain::cargo::CARGO_DEADLINE;
use domain::id;
use domain::reason_code::FailureCode;

use crate::claimed_batch::ClaimedBatch;
use crate::outcome_writer::FinishedCargo;

/// The error of cargo that no provider had at its deadline.
pub(crate) const DEADLINE_PASSED: &str = "the deadline of 24 hours has passed";

pub(crate) async fn fail_overdue(claimed: &ClaimedBatch) -> Result<(), store::Error> {
    let before = id::first_id_at(claimed.claimed_at - CARGO_DEADLINE);
    let cargo = &claimed.batch.cargo;
    if cargo.iter().all(|cargo| cargo.uuid() >= before) {
        return Ok(());
    }
    let open = claimed.list_open().await?.into_iter();
    let late = open.filter(|it| it.cargo.uuid() < before);
    let failure = || FailureCode::DeadlineExceeded.with_message(DEADLINE_PASSED);
    let failed = late.map(|head| FinishedCargo::failed(head, failure()));
    claimed
        .store_failures(failed.collect(), claimed.claimed_at)
        .await
}
