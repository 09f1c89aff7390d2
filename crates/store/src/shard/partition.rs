//! Days: partitions made ahead, and dropped when nothing in them is open.

use chrono::{Days, NaiveDate, NaiveTime, TimeDelta};
use domain::id;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Class;
use crate::Error;
use crate::Shard;
use crate::Transaction;

/// How many days before and after today have partitions.
const DAYS_BACK: u64 = 2;
const DAYS_AHEAD: u64 = 30;
/// A load's id may be of a moment this long before or after the failure that it met.
const MIDNIGHT_MARGIN: TimeDelta = TimeDelta::minutes(1);
/// Nothing younger may be dropped: it would only be made again.
pub const YOUNGEST: TimeDelta = TimeDelta::days(2);
/// In the order in which they go: whoever sees an outcome can still log an attempt.
const TABLES: [&str; 5] = ["outcome", "attempt", "trouble", "request", "cargo"];

/// Makes the days that are missing, from two days back to thirty ahead: today and the days after
/// it first.
pub async fn make_days(shard: &Shard, now: Timestamp) -> Result<(), Error> {
    let today = now.date_naive();
    let ahead = today.iter_days().take(whole(DAYS_AHEAD + 1));
    let first = today.checked_sub_days(Days::new(DAYS_BACK));
    let back = first.into_iter().flat_map(|first| first.iter_days());
    let whole_days = whole_days(shard).await?;
    for day in ahead.chain(back.take(whole(DAYS_BACK))) {
        if !whole_days.contains(&day) {
            make_day(shard, day).await?;
        }
    }
    Ok(())
}

/// Makes the day that a load of `now` needs. The writer calls it when [`Error::is_missing_day`],
/// and then repeats its group once.
pub async fn make_missing(shard: &Shard, now: Timestamp) -> Result<(), Error> {
    let [before, after] = [now - MIDNIGHT_MARGIN, now + MIDNIGHT_MARGIN].map(|at| at.date_naive());
    make_day(shard, after).await?;
    if before != after {
        make_day(shard, before).await?;
    }
    Ok(())
}

async fn make_day(shard: &Shard, day: NaiveDate) -> Result<(), Error> {
    // Loads go on. A caller that does not get the lock within 2 s fails, and tries again later.
    let mut tx = shard.background.begin().await?;
    sqlx::query_scalar!("select shard.make_day($1)", day)
        .fetch_one(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(())
}

/// Whether today has partitions, and for how many days after it there are some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DaysReady {
    pub today: bool,
    pub ahead: u64,
}

pub async fn days_ready(shard: &Shard, now: Timestamp) -> Result<DaysReady, Error> {
    let (days, today) = (days(shard).await?, now.date_naive());
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

/// The days of which every table exists.
async fn whole_days(shard: &Shard) -> Result<Vec<NaiveDate>, Error> {
    let days = sqlx::query_scalar!(
        r#"select right(c.relname, 8) as "day!" from pg_class c
           where c.relnamespace = 'shard'::regnamespace and c.relkind = 'r'
               and c.relname ~ '^(outcome|attempt|trouble|request|cargo)_[0-9]{8}$'
           group by 1 having count(*) = $1"#,
        i64::try_from(TABLES.len()).unwrap_or_default()
    )
    .fetch_all(&shard.pool)
    .await?;
    Ok(days
        .iter()
        .filter_map(|day| NaiveDate::parse_from_str(day, "%Y%m%d").ok())
        .collect())
}

fn whole(days: u64) -> usize {
    usize::try_from(days).unwrap_or_default()
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
/// One node does it at a time, and goes on where another was stopped.
pub async fn drop_days(shard: &Shard, before: Timestamp) -> Result<Vec<NaiveDate>, Error> {
    let mut dropped = Vec::new();
    let old = |day: &NaiveDate| {
        day.succ_opt()
            .is_some_and(|next| next <= before.date_naive())
    };
    let days: Vec<NaiveDate> = found(shard).await?.into_iter().filter(old).collect();
    if days.is_empty() {
        return Ok(dropped);
    }
    // Held beside the dropping, which no transaction may surround.
    let patient = shard.background.with_class(Class::Operator);
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
        close_day(shard, day).await?;
        drop_day(shard, day).await?;
        drop_shares(shard, day).await?;
        dropped.push(day);
    }
    turn.rollback().await?;
    Ok(dropped)
}

/// The days of which anything is there, attached or not: a dropping may have been stopped halfway.
async fn found(shard: &Shard) -> Result<Vec<NaiveDate>, Error> {
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

async fn is_closed(shard: &Shard, day: NaiveDate) -> Result<bool, Error> {
    let (first, beyond) = ids(day);
    let open = sqlx::query_scalar!(
        r#"select exists (select from shard.cargo where id >= $1 and id < $2 and completed_at is null)
               or exists (select from shard.delivery where cargo >= $1 and cargo < $2) as "open!""#,
        first,
        beyond
    )
    .fetch_one(&shard.pool)
    .await?;
    Ok(!open)
}

/// Writes down what the day's holds came to, so that the ledger can be proved without it.
/// Once its outcomes are detached nothing is found here, and what was written stays.
async fn close_day(shard: &Shard, day: NaiveDate) -> Result<(), Error> {
    let (first, beyond) = ids(day);
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
    .execute(&shard.pool)
    .await?;
    Ok(())
}

/// The smallest id of a day, and of the next.
fn ids(day: NaiveDate) -> (Uuid, Uuid) {
    let floor = |day: NaiveDate| id::floor(day.and_time(NaiveTime::MIN).and_utc());
    (floor(day), floor(day.succ_opt().unwrap_or(day)))
}

/// How a table of a day stands to its parent.
struct Part {
    attached: bool,
    /// Its detaching was begun and not finished: nobody reads it any more.
    leaving: bool,
}

async fn part(shard: &Shard, name: &str) -> Result<Option<Part>, Error> {
    let part = sqlx::query_as!(
        Part,
        r#"select i.inhrelid is not null as "attached!", coalesce(i.inhdetachpending, false) as "leaving!"
           from pg_class c left join pg_inherits i on i.inhrelid = c.oid
           where c.relnamespace = 'shard'::regnamespace and c.relname = $1"#,
        name
    )
    .fetch_optional(&shard.pool)
    .await?;
    Ok(part)
}

/// Detached first, without stopping readers or writers, then dropped. The cargo goes last:
/// as long as an outcome is there, its cargo is.
async fn drop_day(shard: &Shard, day: NaiveDate) -> Result<(), Error> {
    for table in TABLES {
        let name = format!("{table}_{}", day.format("%Y%m%d"));
        if let Some(part) = part(shard, &name).await? {
            drop_part(shard, table, &name, part).await?;
        }
    }
    Ok(())
}

async fn drop_part(shard: &Shard, table: &str, name: &str, part: Part) -> Result<(), Error> {
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

/// A batch that was gathered on a day carries nothing younger: all that it had has gone.
async fn drop_shares(shard: &Shard, day: NaiveDate) -> Result<(), Error> {
    let (_, beyond) = ids(day);
    sqlx::query!("delete from shard.share where batch < $1", beyond)
        .execute(&shard.pool)
        .await?;
    Ok(())
}

/// Keeps days from being dropped to the end of the transaction; waits while they are.
pub(crate) async fn keep_days(tx: &mut Transaction) -> Result<(), Error> {
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
