//! Daily partitions: made ahead of time, and dropped after the retention when nothing in them is
//! open.

use chrono::{Days, NaiveDate, NaiveTime, TimeDelta};
use domain::id;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Pool;
use crate::Shard;
use crate::Transaction;
use crate::WorkloadClass;

/// How many days before and after today have partitions.
const DAYS_BACK: u64 = 2;
pub(crate) const DAYS_AHEAD: u64 = 30;
/// The time in a load's id may differ this much from the time at which its insert failed.
const MIDNIGHT_MARGIN: TimeDelta = TimeDelta::minutes(1);
/// Younger days are never dropped: they would be made again.
pub const MIN_RETENTION: TimeDelta = TimeDelta::days(2);
const MAX_SHARES_PER_STATEMENT: i64 = 1000;
/// In the order in which they are dropped: while an outcome exists, its attempts can be logged.
pub(crate) const PARTITIONED_TABLES: [&str; 5] =
    ["outcome", "attempt", "trouble", "request", "cargo"];

/// Makes the partitions of missing days, from two days back to thirty ahead. Starts with today and
/// the days after it.
pub async fn make_days(shard: &Shard, now: Timestamp) -> Result<(), Error> {
    let today = now.date_naive();
    let ahead = today
        .iter_days()
        .take(to_usize(shard.partition_days_ahead + 1));
    let first = today.checked_sub_days(Days::new(DAYS_BACK));
    let back = first.into_iter().flat_map(|first| first.iter_days());
    let whole_days = list_complete_days(shard).await?;
    for day in ahead.chain(back.take(to_usize(DAYS_BACK))) {
        if !whole_days.contains(&day) {
            make_day(shard, day).await?;
        }
    }
    Ok(())
}

/// Makes the partitions that a load at `now` needs. The writer calls it on
/// [`Error::is_missing_partition`], and then repeats its group once.
pub async fn make_missing_day(shard: &Shard, now: Timestamp) -> Result<(), Error> {
    let [before, after] = [now - MIDNIGHT_MARGIN, now + MIDNIGHT_MARGIN].map(|at| at.date_naive());
    make_day(shard, after).await?;
    if before != after {
        make_day(shard, before).await?;
    }
    Ok(())
}

async fn make_day(shard: &Shard, day: NaiveDate) -> Result<(), Error> {
    // Loads continue meanwhile. Without the lock within 2 s this fails, and the caller retries.
    let mut tx = shard.background.begin().await?;
    sqlx::query_scalar!("select shard.make_day($1)", day)
        .fetch_one(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(())
}

/// Whether today has partitions, and how many days after it have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DaysReady {
    pub today: bool,
    pub ahead: u64,
}

pub async fn read_days_ready(shard: &Shard, now: Timestamp) -> Result<DaysReady, Error> {
    let (days, today) = (list_days(shard).await?, now.date_naive());
    let mut ahead = 0;
    while today
        .checked_add_days(Days::new(ahead + 1))
        .is_some_and(|day| days.contains(&day))
    {
        ahead += 1;
    }
    Ok(DaysReady {
        today: days.contains(&today),
        ahead,
    })
}

/// The days for which every table has a partition.
async fn list_complete_days(shard: &Shard) -> Result<Vec<NaiveDate>, Error> {
    let days = sqlx::query_scalar!(
        r#"select right(c.relname, 8) as "day!" from pg_class c
           where c.relnamespace = 'shard'::regnamespace and c.relkind = 'r'
               and c.relname ~ '^(outcome|attempt|trouble|request|cargo)_[0-9]{8}$'
           group by 1 having count(*) = $1"#,
        i64::try_from(PARTITIONED_TABLES.len()).unwrap_or_default()
    )
    .fetch_all(&shard.pool)
    .await?;
    Ok(days
        .iter()
        .filter_map(|day| NaiveDate::parse_from_str(day, "%Y%m%d").ok())
        .collect())
}

fn to_usize(days: u64) -> usize {
    usize::try_from(days).unwrap_or_default()
}

/// The days that have partitions, oldest first.
pub async fn list_days(shard: &Shard) -> Result<Vec<NaiveDate>, Error> {
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

/// Drops the days that ended before `before`, oldest first, up to the first with something open.
/// One node does it at a time, and continues where another was interrupted.
pub async fn drop_days(shard: &Shard, before: Timestamp) -> Result<Vec<NaiveDate>, Error> {
    let mut dropped = Vec::new();
    let old = |day: &NaiveDate| {
        day.succ_opt()
            .is_some_and(|next| next <= before.date_naive())
    };
    let days: Vec<NaiveDate> = list_existing_days(shard)
        .await?
        .into_iter()
        .filter(old)
        .collect();
    if days.is_empty() {
        return Ok(dropped);
    }
    // A separate transaction holds the lock: detaching cannot run inside one.
    let patient = shard.background.with_class(WorkloadClass::Operator);
    let mut turn = patient.begin().await?;
    let ours = sqlx::query_scalar!(
        r#"select pg_try_advisory_xact_lock(hashtext('longshore.drop_day')) as "ours!""#
    );
    if !ours.fetch_one(&mut *turn).await? {
        turn.rollback().await?;
        return Ok(dropped);
    }
    for day in days {
        if !is_closed(shard, day).await? {
            break;
        }
        write_closing_balances(&patient, day).await?;
        drop_day(shard, day).await?;
        drop_batch_shares(shard, day).await?;
        dropped.push(day);
    }
    turn.rollback().await?;
    Ok(dropped)
}

/// The days with any table, attached or not: an earlier drop may have been interrupted.
pub(crate) async fn list_existing_days(shard: &Shard) -> Result<Vec<NaiveDate>, Error> {
    let days = sqlx::query_scalar!(
        r#"select distinct right(c.relname, 8) as "day!" from pg_class c
           where c.relnamespace = 'shard'::regnamespace and c.relkind = 'r'
               and c.relname ~ '^(outcome|attempt|trouble|request|cargo)_[0-9]{8}$'
           order by 1"#
    )
    .fetch_all(&shard.pool)
    .await?;
    Ok(days
        .iter()
        .filter_map(|day| NaiveDate::parse_from_str(day, "%Y%m%d").ok())
        .collect())
}

pub(crate) async fn is_closed(shard: &Shard, day: NaiveDate) -> Result<bool, Error> {
    let (first, beyond) = day_id_bounds(day);
    let open = sqlx::query_scalar!(
        r#"select exists (select from shard.cargo where id >= $1 and id < $2 and completed_at is null)
               or exists (select from shard.delivery where cargo >= $1 and cargo < $2) as "open!""#,
        first,
        beyond
    )
    // A day without open cargo is read as a whole.
    .fetch_one(&shard.background)
    .await?;
    Ok(!open)
}

/// Stores the sums of the day's settled holds, so that the ledger can be checked without its rows.
/// Once its outcomes are detached this finds none, and the stored sums stay.
///
/// It reads all rows of the day, so it needs an operator's patience.
async fn write_closing_balances(patient: &Pool, day: NaiveDate) -> Result<(), Error> {
    let (first, beyond) = day_id_bounds(day);
    sqlx::query!(
        "insert into shard.closing (organization, day, settled, released, charged)
         select c.organization, $1, count(*) filter (where o.success),
             count(*) filter (where not o.success), sum(o.charged)
         from shard.outcome o join shard.cargo c on c.id = o.cargo
         where o.cargo >= $2 and o.cargo < $3 and c.id >= $2 and c.id < $3
             and o.charged is not null
         group by c.organization
         on conflict (organization, day) do update
             set settled = excluded.settled, released = excluded.released, charged = excluded.charged",
        day,
        first,
        beyond
    )
    .execute(patient)
    .await?;
    Ok(())
}

/// The smallest id of a day, and of the next.
fn day_id_bounds(day: NaiveDate) -> (Uuid, Uuid) {
    let floor = |day: NaiveDate| id::first_id_at(day.and_time(NaiveTime::MIN).and_utc());
    (floor(day), floor(day.succ_opt().unwrap_or(day)))
}

/// How a day's table is attached to its parent.
struct PartitionState {
    attached: bool,
    /// Detaching was begun and not finished; queries no longer read it.
    leaving: bool,
}

async fn find_partition_state(shard: &Shard, name: &str) -> Result<Option<PartitionState>, Error> {
    let part = sqlx::query_as!(
        PartitionState,
        r#"select i.inhrelid is not null as "attached!", coalesce(i.inhdetachpending, false) as "leaving!"
           from pg_class c left join pg_inherits i on i.inhrelid = c.oid
           where c.relnamespace = 'shard'::regnamespace and c.relname = $1"#,
        name
    )
    .fetch_optional(&shard.pool)
    .await?;
    Ok(part)
}

/// Detaches each partition without blocking readers or writers, then drops it. Cargo is dropped
/// last: as long as an outcome exists, its cargo exists.
async fn drop_day(shard: &Shard, day: NaiveDate) -> Result<(), Error> {
    for table in PARTITIONED_TABLES {
        let name = format!("{table}_{}", day.format("%Y%m%d"));
        if let Some(part) = find_partition_state(shard, &name).await? {
            drop_partition(shard, table, &name, part).await?;
        }
    }
    Ok(())
}

async fn drop_partition(
    shard: &Shard,
    table: &str,
    name: &str,
    part: PartitionState,
) -> Result<(), Error> {
    if part.attached {
        let how = if part.leaving {
            "finalize"
        } else {
            "concurrently"
        };
        let detach = format!("alter table shard.{table} detach partition shard.{name} {how}");
        execute(shard, detach).await?;
    }
    execute(shard, format!("drop table shard.{name}")).await
}

/// Deletes the shares of batches that were gathered up to this day: all their cargo is dropped.
async fn drop_batch_shares(shard: &Shard, day: NaiveDate) -> Result<(), Error> {
    let (_, beyond) = day_id_bounds(day);
    loop {
        let deleted = sqlx::query!(
            "delete from shard.share where (project, batch) in (
                 select project, batch from shard.share where batch < $1 order by batch limit $2)",
            beyond,
            MAX_SHARES_PER_STATEMENT
        );
        let deleted = deleted.execute(&shard.background).await?.rows_affected();
        if deleted < MAX_SHARES_PER_STATEMENT.unsigned_abs() {
            return Ok(());
        }
    }
}

/// Keeps days from being dropped until the transaction ends; waits for a drop that is running.
pub(crate) async fn lock_days(tx: &mut Transaction) -> Result<(), Error> {
    sqlx::query!("select pg_advisory_xact_lock_shared(hashtext('longshore.drop_day')) as locked")
        .fetch_one(&mut **tx)
        .await?;
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the names of partitions are made from dates"
)]
async fn execute(shard: &Shard, statement: String) -> Result<(), Error> {
    sqlx::query(sqlx::AssertSqlSafe(statement))
        .execute(&shard.background)
        .await?;
    Ok(())
}
