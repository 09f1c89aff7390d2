//! Freezing: a day in which nothing is open is vacuumed once, with all its rows frozen. Otherwise
//! PostgreSQL would rewrite thirty days at once, at a moment of its own choosing.

use chrono::NaiveDate;
use sqlx::{Connection as _, PgConnection};

use crate::Error;
use crate::Shard;
use crate::shard::partition::{self, PARTITIONED_TABLES};

/// Freezes the oldest day before `before` that is closed and not frozen yet. None: there is no such
/// day.
///
/// A vacuum that takes more than ten minutes is stopped. The next call continues, because pages that
/// are frozen are skipped.
pub async fn freeze_next_day(shard: &Shard, before: NaiveDate) -> Result<Option<NaiveDate>, Error> {
    let days = partition::list_days(shard).await?;
    let frozen = list_frozen_days(shard).await?;
    if let Some(first) = days.first() {
        sqlx::query!("delete from shard.frozen_day where day < $1", first)
            .execute(&shard.pool)
            .await?;
    }
    for day in days {
        if day >= before || frozen.contains(&day) || !partition::is_closed(shard, day).await? {
            continue;
        }
        // Outside the pool, whose deadlines are shorter.
        let mut connection = shard.background.connect_outside_pool().await?;
        freeze(&mut connection, day).await?;
        connection.close().await?;
        sqlx::query!(
            "insert into shard.frozen_day (day) values ($1) on conflict do nothing",
            day
        )
        .execute(&shard.pool)
        .await?;
        return Ok(Some(day));
    }
    Ok(None)
}

pub async fn list_frozen_days(shard: &Shard) -> Result<Vec<NaiveDate>, Error> {
    let days = sqlx::query_scalar!("select day from shard.frozen_day order by day");
    Ok(days.fetch_all(&shard.pool).await?)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the names of partitions are made from dates"
)]
async fn freeze(connection: &mut PgConnection, day: NaiveDate) -> Result<(), Error> {
    // As slow as autovacuum: about 40 MB a second at most.
    sqlx::query!("set vacuum_cost_delay = '2ms'")
        .execute(&mut *connection)
        .await?;
    sqlx::query!("set statement_timeout = '10min'")
        .execute(&mut *connection)
        .await?;
    sqlx::query!("set lock_timeout = '2s'")
        .execute(&mut *connection)
        .await?;
    for table in PARTITIONED_TABLES {
        let day = day.format("%Y%m%d");
        let vacuum = format!("vacuum (freeze, truncate off) shard.{table}_{day}");
        sqlx::query(sqlx::AssertSqlSafe(vacuum))
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
