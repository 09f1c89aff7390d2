//! Account statements: an organization's postings in order, page by page.

use domain::id::OrganizationId;
use domain::ledger::{DoubleEntry, PostingKind};
use domain::money::Money;
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::number::signed;
use crate::shard::posting::entries_from_columns;

/// The postings of a statement, as a range of numbers without gaps. So one statement ends where
/// the next begins and the balances match, even if clocks differed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementRange {
    /// The number of the first posting, and of the first one after the range.
    pub first: u64,
    pub end: u64,
    /// The balance before the first, and after the last.
    pub opening: Money,
    pub closing: Money,
}

/// One posting, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementLine {
    pub number: u64,
    pub at: Timestamp,
    pub kind: PostingKind,
    pub entries: DoubleEntry,
    pub balance: Money,
    /// How many cargo it settles.
    pub cargo: u64,
    pub reference: Option<String>,
    pub note: Option<String>,
}

/// From the first posting at or after `since` up to the first at or after `until`.
pub async fn find_range(
    shard: &Shard,
    organization: OrganizationId,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
) -> Result<StatementRange, Error> {
    let row = sqlx::query!(
        r#"with closed as (
               -- What left before the first posting that is kept.
               select coalesce(max(number), 0) as number, coalesce(max(balance), 0) as balance
               from shard.opening where organization = $1
           ), bounds as (
               select
                   case when $2::timestamptz is null then (select number + 1 from closed) else (
                       select number from shard.posting
                       where organization = $1 and at >= $2 order by number limit 1) end as first,
                   case when $3::timestamptz is not null then (
                       select number from shard.posting
                       where organization = $1 and at >= $3 order by number limit 1) end as beyond,
                   coalesce((select max(number) from shard.posting where organization = $1),
                       (select number from closed)) + 1 as next
           ), span as (
               select coalesce(beyond, next) as end,
                   least(coalesce(first, next), coalesce(beyond, next)) as first
               from bounds
           )
           select first as "first!", span.end as "end!",
               coalesce((select balance from shard.posting
                   where organization = $1 and number = first - 1),
                   (select balance from closed)) as "opening!",
               coalesce((select balance from shard.posting
                   where organization = $1 and number = span.end - 1),
                   (select balance from closed)) as "closing!"
           from span"#,
        organization.uuid(),
        since,
        until
    )
    .fetch_one(&shard.pool)
    .await?;
    Ok(StatementRange {
        first: posting_number(row.first)?,
        end: posting_number(row.end)?,
        opening: Money(row.opening),
        closing: Money(row.closing),
    })
}

/// At most `limit` lines of a range, starting at number `from`.
pub async fn list_lines(
    shard: &Shard,
    organization: OrganizationId,
    span: StatementRange,
    from: u64,
    limit: u32,
) -> Result<Vec<StatementLine>, Error> {
    let rows = sqlx::query!(
        r#"select number, kind, at, credit, revenue, loss, funding, balance,
               coalesce(cardinality(cargo), 0) as "cargo!", reference, note
           from shard.posting
           where organization = $1 and number >= $2 and number < $3
           order by number limit $4"#,
        organization.uuid(),
        signed(from.max(span.first)),
        signed(span.end),
        i64::from(limit)
    )
    .fetch_all(&shard.pool)
    .await?;
    let lines = rows.into_iter().map(|row| {
        Ok(StatementLine {
            number: posting_number(row.number)?,
            at: row.at,
            kind: PostingKind::parse(&row.kind).ok_or(Error::Corrupt {
                table: "posting",
                column: "kind",
            })?,
            entries: entries_from_columns([row.credit, row.revenue, row.loss, row.funding]),
            balance: Money(row.balance),
            cargo: u64::try_from(row.cargo).unwrap_or_default(),
            reference: row.reference,
            note: row.note,
        })
    });
    lines.collect()
}

fn posting_number(number: i64) -> Result<u64, Error> {
    u64::try_from(number).map_err(|_| Error::Corrupt {
        table: "posting",
        column: "number",
    })
}
