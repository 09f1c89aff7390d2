//! What leaves, what stays, and that sums and the audit are the same before and after.

mod control;
mod counts;
mod ended;
mod freeze;
mod ledger;

use chrono::TimeDelta;
use domain::time::{Clock as _, Timestamp};
use sqlx::{AssertSqlSafe, Executor as _};
use store::Pool;
use test_support::database::TestDatabase;

fn days_ago(database: &TestDatabase, days: i64) -> Timestamp {
    database.clock.now() - TimeDelta::days(days)
}

async fn execute(pool: &Pool, statement: impl Into<String>) {
    let statement = AssertSqlSafe(statement.into());
    pool.execute(statement).await.unwrap();
}

/// The first column of a query as text, joined by spaces.
async fn read(pool: &Pool, query: &str) -> String {
    let query = format!("select string_agg(it::text, ' ') from ({query}) as found (it)");
    let text = sqlx::query_scalar::<_, Option<String>>(AssertSqlSafe(query)).fetch_one(pool);
    text.await.unwrap().unwrap_or_default()
}
