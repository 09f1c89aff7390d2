//! The snapshot that all checks of a transaction read.

use crate::Error;
use crate::Transaction;

/// One snapshot for all checks. The tables are locked against the dropping of a day before the
/// snapshot is taken, so the catalogue matches the snapshot.
pub(crate) async fn prepare_full_check(tx: &mut Transaction) -> Result<(), Error> {
    begin(tx, true).await?;
    sqlx::query!("set local statement_timeout = 0")
        .execute(&mut **tx)
        .await?;
    // Joins day by day, so that only one day's rows are in memory at a time.
    sqlx::query!("set local enable_partitionwise_join = on")
        .execute(&mut **tx)
        .await?;
    // All rows are read, so nested loops would be slow.
    sqlx::query!("set local enable_nestloop = off")
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// The snapshot is taken after the locks.
pub(super) async fn begin(tx: &mut Transaction, is_read_only: bool) -> Result<(), Error> {
    sqlx::query!("set transaction isolation level repeatable read")
        .execute(&mut **tx)
        .await?;
    if is_read_only {
        sqlx::query!("set transaction read only")
            .execute(&mut **tx)
            .await?;
    }
    sqlx::query!("set local lock_timeout = '10s'")
        .execute(&mut **tx)
        .await?;
    sqlx::query!("lock table shard.outcome, shard.cargo in access share mode")
        .execute(&mut **tx)
        .await?;
    // With a table per day, compiling costs more than it gains.
    sqlx::query!("set local jit = off")
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Changes a setting for this transaction.
pub(super) async fn set(tx: &mut Transaction, name: &str, value: &str) -> Result<(), Error> {
    sqlx::query_scalar!("select set_config($1, $2, true)", name, value)
        .fetch_one(&mut **tx)
        .await?;
    Ok(())
}

/// Whether statements may join by nested loops. Cargo and outcomes of the last minutes are newer than
/// the statistics, so they seem to be few, and a nested loop would read each outcome for each cargo.
pub(super) async fn allow_nested_loops(tx: &mut Transaction, allowed: bool) -> Result<(), Error> {
    set(tx, "enable_nestloop", if allowed { "on" } else { "off" }).await
}
