//! Cuts the service's database connections, inside a transaction if possible.

use std::time::{Duration, Instant};

use sqlx::PgPool;

use crate::harness::failure::{FailureContext as _, Result};
use crate::harness::servers::postgres::TRIALS_APPLICATION_NAME;

/// How often to search for a transaction before an idle connection is cut instead.
const MAX_TRANSACTION_SEARCHES: u32 = 15;

#[derive(Debug, Default, Clone, Copy)]
pub struct CutCounts {
    pub total: u64,
    pub in_transaction: u64,
}

/// Cuts one connection every 50 to 200 ms.
pub async fn cut_connections(
    server: &PgPool,
    length: Duration,
    cuts: &mut CutCounts,
) -> Result<()> {
    let begun = Instant::now();
    while begun.elapsed() < length {
        let pause = Duration::from_millis(rand::random_range(50..=200));
        tokio::time::sleep(pause).await;
        if cut_in_transaction(server).await? {
            cuts.total += 1;
            cuts.in_transaction += 1;
        } else if cut_any(server).await? {
            cuts.total += 1;
        }
    }
    Ok(())
}

/// A transaction lasts a millisecond or two, so a single query would often miss it.
async fn cut_in_transaction(server: &PgPool) -> Result<bool> {
    let query = "select pg_terminate_backend(pid) from pg_stat_activity
        where backend_type = 'client backend' and application_name <> $1
          and backend_xid is not null
        order by random() limit 1";
    for _ in 0..MAX_TRANSACTION_SEARCHES {
        if terminate_backend(server, query).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn cut_any(server: &PgPool) -> Result<bool> {
    let query = "select pg_terminate_backend(pid) from pg_stat_activity
        where backend_type = 'client backend' and application_name <> $1
        order by state = 'active' desc, random() limit 1";
    terminate_backend(server, query).await
}

async fn terminate_backend(server: &PgPool, query: &'static str) -> Result<bool> {
    let query = sqlx::query_scalar::<_, bool>(query).bind(TRIALS_APPLICATION_NAME);
    let cut = query
        .fetch_optional(server)
        .await
        .context("terminating a backend")?;
    Ok(cut.unwrap_or_default())
}
