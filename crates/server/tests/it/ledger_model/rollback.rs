//! Writes that PostgreSQL rolled back. On a busy machine a timeout does that in any round.

use store::Error;

use super::client::ObservedResult;
use super::history::RoundFault;
use super::operation::OperationResult;

/// How often work on the stable shard is repeated.
const MAX_REPETITIONS: u32 = 10;
/// The SQLSTATEs with which PostgreSQL reports that it rolled the transaction back: a cancelled
/// statement (its timeout, or an operator), a lock timeout, a serialization failure, a deadlock, and
/// a transaction that was idle or took too long.
const ROLLED_BACK_CODES: [&str; 6] = ["57014", "55P03", "40001", "40P01", "25P03", "25P04"];

/// PostgreSQL stored nothing of the transaction.
pub(super) fn is_rolled_back(failure: &Error) -> bool {
    let Error::Driver(sqlx::Error::Database(refused)) = failure else {
        return false;
    };
    let code = refused.code().unwrap_or_default();
    ROLLED_BACK_CODES.contains(&&*code)
}

/// The client's deadline ended the wait, so the result is not known.
fn is_timed_out(failure: &Error) -> bool {
    matches!(failure, Error::Driver(sqlx::Error::PoolTimedOut))
        || matches!(failure, Error::Driver(sqlx::Error::Io(failure))
            if failure.kind() == std::io::ErrorKind::TimedOut)
}

/// A write may only fail because PostgreSQL rolled it back, because of a timeout, or because its
/// connection was cut. The rows show whether it was committed.
pub(super) fn unknown_or_error(
    failure: &Error,
    fault: RoundFault,
) -> Result<ObservedResult, String> {
    let is_cut = fault == RoundFault::ConnectionsCut && failure.is_unavailable();
    if is_cut || is_rolled_back(failure) || is_timed_out(failure) {
        Ok(ObservedResult::Unknown)
    } else {
        Err(format!("a write failed: {failure:?}"))
    }
}

/// Another client was faster. A rollback means the same: the operation has changed nothing.
pub(super) fn fenced_or_error(
    result: Result<OperationResult, Error>,
) -> Result<OperationResult, String> {
    match result {
        Ok(done) => Ok(done),
        Err(Error::Fenced) => Ok(OperationResult::Fenced),
        Err(failure) if is_rolled_back(&failure) => Ok(OperationResult::Fenced),
        Err(failure) => Err(format!("a batch operation failed: {failure:?}")),
    }
}

/// Repeats work that PostgreSQL rolled back.
pub(super) async fn repeat_rolled_back<T>(
    work: impl AsyncFn() -> Result<T, Error>,
) -> Result<T, Error> {
    repeat_while(is_rolled_back, work).await
}

/// Repeats work that may have been done, and that can be done twice.
pub(super) async fn repeat_idempotent<T>(
    work: impl AsyncFn() -> Result<T, Error>,
) -> Result<T, Error> {
    repeat_while(Error::is_unavailable, work).await
}

async fn repeat_while<T>(
    may_succeed_later: impl Fn(&Error) -> bool,
    work: impl AsyncFn() -> Result<T, Error>,
) -> Result<T, Error> {
    let mut repetitions = 0;
    loop {
        match work().await {
            Err(failure) if repetitions < MAX_REPETITIONS && may_succeed_later(&failure) => {
                repetitions += 1;
            }
            done => return done,
        }
    }
}
