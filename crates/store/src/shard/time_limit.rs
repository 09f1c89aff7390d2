//! Queries with a time limit. Dead rows that an old transaction keeps can make a query at the head
//! of a queue slow, and a stage should not wait for that.

use std::time::Duration;

use crate::Error;
use crate::Shard;
use crate::Transaction;

/// A transaction whose statements the server cancels after `limit`.
pub(crate) async fn begin_limited(shard: &Shard, limit: Duration) -> Result<Transaction, Error> {
    let mut tx = shard.begin().await?;
    sqlx::query!(
        "select set_config('statement_timeout', $1, true) as limited",
        limit.as_millis().to_string()
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(tx)
}

/// None: the limit was reached.
pub(crate) fn none_if_timed_out<T>(read: Result<T, sqlx::Error>) -> Result<Option<T>, Error> {
    match read.map_err(Error::from) {
        Ok(read) => Ok(Some(read)),
        Err(error) if error.is_statement_timeout() => Ok(None),
        Err(error) => Err(error),
    }
}
