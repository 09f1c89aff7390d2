//! Fails cargo past its deadline in batches that no provider has. Sweep fails the waiting cargo.

use domain::cargo::CARGO_DEADLINE;
use domain::id;
use domain::reason_code::FailureCode;

use crate::claimed_batch::ClaimedBatch;
use crate::outcome_writer::FinishedCargo;

/// The error of cargo that no provider had at its deadline.
pub(crate) const DEADLINE_PASSED: &str = "the deadline of 24 hours has passed";
/// The same for the deadline of its caller.
pub(crate) const CALLER_DEADLINE_PASSED: &str = "the deadline of the load has passed";

pub(crate) async fn fail_overdue(claimed: &ClaimedBatch) -> Result<(), store::Error> {
    let (batch, now) = (&claimed.batch, claimed.claimed_at);
    let before = id::first_id_at(now - CARGO_DEADLINE);
    let is_past = batch.first_deadline_at.is_some_and(|at| at <= now);
    if !is_past && batch.cargo.iter().all(|cargo| cargo.uuid() >= before) {
        return Ok(());
    }
    let open = claimed.list_open().await?.into_iter();
    let failed = open.filter_map(|head| {
        let message = if head.cargo.uuid() < before {
            DEADLINE_PASSED
        } else {
            CALLER_DEADLINE_PASSED
        };
        let is_late = head.cargo.uuid() < before || head.deadline_at <= now;
        let failure = FailureCode::DeadlineExceeded.with_message(message);
        is_late.then(|| FinishedCargo::failed(head, failure))
    });
    claimed.store_failures(failed.collect(), now).await
}
