//! A client of the ledger model that goes away, or whose answer is lost.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;

use super::history::ClientFault;
use super::operation::{LedgerLoadResult, OperationResult};

/// The result of an operation as far as its client knows it after the round.
pub(super) enum ObservedResult {
    Complete(OperationResult),
    /// One for each load. None if the process answered 503, or the answer was lost.
    Loads(Vec<Option<LedgerLoadResult>>),
    Unknown,
}

/// Runs one client, and hides its result if its answer is lost.
pub(super) async fn run_client(
    fault: ClientFault,
    work: impl Future<Output = Result<ObservedResult, String>>,
) -> Result<ObservedResult, String> {
    match (drop_after(fault.polls_before_drop(), work).await, fault) {
        (Some(Ok(_)), ClientFault::AnswerLost) | (None, _) => Ok(ObservedResult::Unknown),
        (Some(observed), _) => observed,
    }
}

/// Drops a future after this many polls.
async fn drop_after<T>(polls: Option<u32>, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut left = polls;
    std::future::poll_fn(|context| {
        match &mut left {
            Some(0) => return Poll::Ready(None),
            Some(left) => *left -= 1,
            None => {}
        }
        work.as_mut().poll(context).map(Some)
    })
    .await
}
