//! Lets all database connections of one process hang: they stay open, and no byte passes.

use std::time::Duration;

use sqlx::PgPool;

use crate::harness::failure::{FailureContext as _, Result};
use crate::harness::progress::report_progress;
use crate::harness::relays::silent_relay::{SilenceDirection, SilenceEnd, SilentRelay};
use crate::harness::servers::postgres::TRIALS_APPLICATION_NAME;

/// When hung transactions are counted: before the server ends them because they are idle.
const COUNT_DELAY: Duration = Duration::from_millis(700);
/// A transaction of a process that is not silenced is idle for milliseconds.
const MIN_HUNG_SECONDS: f64 = 0.5;

#[derive(Debug, Default, Clone, Copy)]
pub struct HangCounts {
    /// How often the connections of a process hung.
    pub silences: usize,
    /// Connections that hung inside a transaction.
    pub in_transaction: i64,
}

/// Silences the connections of a random process for 2 to 5 s. Afterwards they continue, or they
/// hang until the process gives them up.
pub async fn hang_process(
    server: &PgPool,
    relays: &[SilentRelay],
    hangs: &mut HangCounts,
) -> Result<()> {
    let place = rand::random_range(0..relays.len().max(1));
    let Some(relay) = relays.get(place) else {
        return Ok(());
    };
    let length = Duration::from_millis(rand::random_range(2_000..=5_000));
    let direction = SilenceDirection::in_turn(hangs.silences);
    report_progress(format!(
        "the connections of process {} hang ({}) for {:.1} s",
        place + 1,
        direction.name(),
        length.as_secs_f64()
    ));
    relay.silence(direction);
    tokio::time::sleep(COUNT_DELAY).await;
    hangs.in_transaction += count_hung_transactions(server).await?;
    tokio::time::sleep(length.saturating_sub(COUNT_DELAY)).await;
    relay.restore(SilenceEnd::in_turn(hangs.silences));
    hangs.silences += 1;
    Ok(())
}

/// Transactions of the service in which the server waits for the next statement.
async fn count_hung_transactions(server: &PgPool) -> Result<i64> {
    let query = "select count(*) from pg_stat_activity
        where backend_type = 'client backend' and application_name <> $1
          and state = 'idle in transaction'
          and state_change < clock_timestamp() - make_interval(secs => $2)";
    sqlx::query_scalar(query)
        .bind(TRIALS_APPLICATION_NAME)
        .bind(MIN_HUNG_SECONDS)
        .fetch_one(server)
        .await
        .context("counting hung transactions")
}
