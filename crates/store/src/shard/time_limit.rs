//! A look that may take only so long: dead rows under an old transaction can make any look at the
//! head of a queue slow, and a stage has better things to do than to wait for it.

use std::time::Duration;

use crate::Error;
use crate::Shard;
use crate::Transaction;

/// A transaction whose statements are stopped by the server after `limit`.
pub(crate) async fn begin(shard: &Shard, limit: Duration) -> Result<Transaction, Error> {
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
pub(crate) fn unless_reached<T>(read: Result<T, sqlx::Error>) -> Result<Option<T>, Error> {
    match read.map_err(Error::from) {
        Ok(read) => Ok(Some(read)),
        Err(error) if error.is_timed_out() => Ok(None),
        Err(error) => Err(error),
    }
}
