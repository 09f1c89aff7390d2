//! The oldest postings and closing balances leave, and an opening balance stands for them.
//!
//! The sums of the ledger stay the same: an amount moves from rows to the opening balance in one
//! transaction. The audit then begins at the opening balance.

use chrono::{Datelike as _, NaiveDate};
use domain::id::OrganizationId;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;

/// Organizations after `after`, in the order of their ids, and whether they have rows to close.
pub async fn list_organizations(
    shard: &Shard,
    after: Option<OrganizationId>,
    before: Timestamp,
    most: i64,
) -> Result<Vec<(OrganizationId, bool)>, Error> {
    let rows = sqlx::query!(
        r#"select page.organization as "organization!",
               coalesce((select p.at < $2 from shard.posting p
                   where p.organization = page.organization order by p.number limit 1), false)
               or exists (select from shard.closing c
                   where c.organization = page.organization and c.day < $3) as "is_due!"
           from (select organization from shard.account where organization > $1
                 order by organization limit $4) page
           order by 1"#,
        after.map_or(Uuid::nil(), OrganizationId::uuid),
        before,
        first_kept_day(before),
        most
    )
    .fetch_all(&shard.background)
    .await?;
    let found = rows.into_iter();
    Ok(found
        .map(|row| (row.organization.into(), row.is_due))
        .collect())
}

/// Lets at most `most` of an organization's oldest postings leave, those before `before` only, and
/// its closing balances of the months before it. Returns how many postings left.
///
/// The caller makes sure that all cargo which these postings settle is dropped.
pub async fn close(
    shard: &Shard,
    organization: OrganizationId,
    before: Timestamp,
    most: i64,
) -> Result<u64, Error> {
    let mut tx = shard.background.begin().await?;
    // Two nodes would add the same amounts twice.
    sqlx::query!("select pg_advisory_xact_lock(hashtext('longshore.opening')) as locked")
        .fetch_one(&mut *tx)
        .await?;
    let left = close_postings(&mut tx, organization, before, most).await?;
    close_days(&mut tx, organization, first_kept_day(before)).await?;
    tx.commit().await?;
    Ok(left)
}

async fn close_postings(
    tx: &mut Transaction,
    organization: OrganizationId,
    before: Timestamp,
    most: i64,
) -> Result<u64, Error> {
    let last = sqlx::query_scalar!(
        r#"with oldest as (
               select number, at, kind, credit, balance from shard.posting
               where organization = $1 order by number limit $3
           ), leaving as (
               -- Up to the first that stays: the numbers keep no gap.
               select * from oldest
               where number < coalesce((select min(number) from oldest where at >= $2),
                   9223372036854775807)
           )
           insert into shard.opening (organization, number, balance, settled)
           select $1, l.number, l.balance,
               (select coalesce(-sum(credit) filter (where kind = 'settlement'), 0)::bigint
                from leaving)
           from leaving l order by l.number desc limit 1
           on conflict (organization) do update
               set number = excluded.number, balance = excluded.balance,
                   settled = opening.settled + excluded.settled
           returning number"#,
        organization.uuid(),
        before,
        most
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(last) = last else { return Ok(0) };
    let left = sqlx::query!(
        "delete from shard.posting where organization = $1 and number <= $2",
        organization.uuid(),
        last
    )
    .execute(&mut **tx)
    .await?;
    Ok(left.rows_affected())
}

async fn close_days(
    tx: &mut Transaction,
    organization: OrganizationId,
    before: NaiveDate,
) -> Result<(), Error> {
    sqlx::query!(
        "with gone as (
             delete from shard.closing where organization = $1 and day < $2 returning day, charged
         )
         insert into shard.opening (organization, number, balance, charged, closed_day)
         select $1, 0, 0, sum(charged)::bigint, max(day) from gone having count(*) > 0
         on conflict (organization) do update
             set charged = opening.charged + excluded.charged,
                 closed_day = greatest(opening.closed_day, excluded.closed_day)",
        organization.uuid(),
        before
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Deletes at most `most` months of capped keys before the month of `before`. They leave before the
/// closing balances of their month, which tell the audit that the month cannot be proved any more.
pub async fn delete_key_months(shard: &Shard, before: Timestamp, most: i64) -> Result<u64, Error> {
    let deleted = sqlx::query!(
        "delete from shard.key_spending where (api_key, month) in (
             select api_key, month from shard.key_spending where month < $1 and held = 0 limit $2)",
        first_kept_day(before),
        most
    )
    .execute(&shard.background)
    .await?;
    Ok(deleted.rows_affected())
}

/// The first day of the month: months leave as a whole.
fn first_kept_day(before: Timestamp) -> NaiveDate {
    let day = before.date_naive();
    day.with_day(1).unwrap_or(day)
}
