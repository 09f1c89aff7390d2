//! Days: partitions made ahead, and dropped when nothing in them is open.

use chrono::{Days, NaiveDate};
use domain::id;
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;

/// How many days stand ready before and after today.
const BACK: u64 = 2;
const AHEAD: u64 = 7;
const TABLES: [&str; 4] = ["attempt", "outcome", "request", "cargo"];

/// Makes what is missing from two days back to seven ahead.
pub async fn make_days(shard: &Shard, now: Timestamp) -> Result<(), Error> {
    let Some(first) = now.date_naive().checked_sub_days(Days::new(BACK)) else {
        return Ok(());
    };
    for day in first
        .iter_days()
        .take(usize::try_from(BACK + 1 + AHEAD).unwrap_or_default())
    {
        let mut tx = shard.begin().await?;
        // Loads go on: who cannot get the lock at once tries again at the next sweep.
        sqlx::query!("set local lock_timeout = '2s'")
            .execute(&mut *tx)
            .await?;
        // Two nodes that sweep at the same moment take turns.
        sqlx::query!("select pg_advisory_xact_lock(hashtext('longshore.make_day')) as locked")
            .fetch_one(&mut *tx)
            .await?;
        sqlx::query_scalar!("select shard.make_day($1)", day)
            .fetch_one(&mut *tx)
            .await?;
        tx.commit().await?;
    }
    Ok(())
}

/// For how many days after today there are partitions.
pub async fn days_ahead(shard: &Shard, now: Timestamp) -> Result<u64, Error> {
    let days = days(shard).await?;
    let mut ahead = 0;
    while now
        .date_naive()
        .checked_add_days(Days::new(ahead + 1))
        .is_some_and(|day| days.contains(&day))
    {
        ahead += 1;
    }
    Ok(ahead)
}

/// The days that have partitions, oldest first.
pub async fn days(shard: &Shard) -> Result<Vec<NaiveDate>, Error> {
    let names = sqlx::query_scalar!(
        r#"select substr(c.relname, 7) as "day!" from pg_inherits i
           join pg_class c on c.oid = i.inhrelid
           where i.inhparent = 'shard.cargo'::regclass and not i.inhdetachpending
           order by 1"#
    )
    .fetch_all(&shard.pool)
    .await?;
    Ok(names
        .iter()
        .filter_map(|name| NaiveDate::parse_from_str(name, "%Y%m%d").ok())
        .collect())
}

/// Drops the days that ended before `before`, oldest first, unless something in them is open.
pub async fn drop_days(shard: &Shard, before: Timestamp) -> Result<Vec<NaiveDate>, Error> {
    let mut dropped = Vec::new();
    for day in days(shard).await? {
        let Some(next) = day.succ_opt() else { break };
        if next > before.date_naive() || !is_closed(shard, day, next).await? {
            break;
        }
        drop_day(shard, day).await?;
        dropped.push(day);
    }
    Ok(dropped)
}

async fn is_closed(shard: &Shard, day: NaiveDate, next: NaiveDate) -> Result<bool, Error> {
    let floor = |day: NaiveDate| id::floor(day.and_time(chrono::NaiveTime::MIN).and_utc());
    let open = sqlx::query_scalar!(
        r#"select exists (select from shard.cargo where id >= $1 and id < $2 and completed_at is null)
               or exists (select from shard.delivery where cargo >= $1 and cargo < $2) as "open!""#,
        floor(day),
        floor(next)
    )
    .fetch_one(&shard.pool)
    .await?;
    Ok(!open)
}

/// Detached first, without stopping readers or writers, then dropped.
#[expect(
    clippy::disallowed_methods,
    reason = "the names of partitions are made from dates"
)]
async fn drop_day(shard: &Shard, day: NaiveDate) -> Result<(), Error> {
    let mut connection = shard.pool.acquire().await?;
    for table in TABLES {
        let part = format!("shard.{table}_{}", day.format("%Y%m%d"));
        let detach = format!("alter table shard.{table} detach partition {part} concurrently");
        let statements = [
            "set lock_timeout = '2s'".to_owned(),
            detach,
            format!("drop table {part}"),
        ];
        for statement in statements {
            sqlx::query(sqlx::AssertSqlSafe(statement))
                .execute(&mut *connection)
                .await?;
        }
    }
    sqlx::query("reset lock_timeout")
        .execute(&mut *connection)
        .await?;
    Ok(())
}
