//! Cuts the service's database connections, in mid-transaction when it can.

use std::time::{Duration, Instant};

use sqlx::PgPool;

use crate::failure::{During as _, Result};
use crate::postgres::OURSELVES;

/// How often a transaction is looked for before an idle connection is cut instead.
const TRIES: u32 = 15;

#[derive(Debug, Default, Clone, Copy)]
pub struct Cuts {
    pub all: u64,
    pub in_transaction: u64,
}

/// Cuts one connection every 50 to 200 ms.
pub async fn cut(server: &PgPool, length: Duration) -> Result<Cuts> {
    let begun = Instant::now();
    let mut cuts = Cuts::default();
    while begun.elapsed() < length {
        let pause = Duration::from_millis(rand::random_range(50..=200));
        tokio::time::sleep(pause).await;
        if cut_in_transaction(server).await? {
            cuts.all += 1;
            cuts.in_transaction += 1;
        } else if cut_any(server).await? {
            cuts.all += 1;
        }
    }
    Ok(cuts)
}

/// A transaction lasts a millisecond or two, so one look would often miss it.
async fn cut_in_transaction(server: &PgPool) -> Result<bool> {
    let query = "select pg_terminate_backend(pid) from pg_stat_activity
        where backend_type = 'client backend' and application_name <> $1
          and backend_xid is not null
        order by random() limit 1";
    for _ in 0..TRIES {
        if terminated(server, query).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn cut_any(server: &PgPool) -> Result<bool> {
    let query = "select pg_terminate_backend(pid) from pg_stat_activity
        where backend_type = 'client backend' and application_name <> $1
        order by state = 'active' desc, random() limit 1";
    terminated(server, query).await
}

async fn terminated(server: &PgPool, query: &'static str) -> Result<bool> {
    let asked = sqlx::query_scalar::<_, bool>(query).bind(OURSELVES);
    let cut = asked
        .fetch_optional(server)
        .await
        .during("cutting a connection")?;
    Ok(cut.unwrap_or_default())
}
