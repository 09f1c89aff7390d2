//! Compares settlements with the cargo that they settle. Of dropped days only the sums are left.

use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Transaction;
use crate::shard::ledger_audit::fault::{LedgerFault, Row, faults_from_rows};

/// The settlements of `from`, postings `p` with the `id` of each `item`, that differ from their
/// cargo. `$1` is the first id of the days that are kept.
macro_rules! amount_mismatches {
    ($from:literal, $kept:expr $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            crate::shard::ledger_audit::fault::Row,
            // Materialized first: otherwise the joins would run again for every posting.
            "with named as materialized (
               select p.organization, p.number, -p.credit as credit, p.revenue, item.id "
                + $from
                + r#"
           ), summed as (
               select n.organization, n.number, n.credit, n.revenue, bool_or(n.id < $1) as partly,
                   coalesce(sum(o.charged), 0) as charged,
                   coalesce(sum(shard.worth(c.price_input, c.price_output, c.price_buckets,
                       o.input_tokens, o.cached_tokens, o.cache_write_tokens,
                       o.cache_write_1h_tokens, o.output_tokens)), 0) as worth
               from named n
               left join shard.outcome o on o.cargo = n.id and o.cargo >= $1
               left join shard.cargo c on c.id = n.id and c.id >= $1
               group by n.organization, n.number, n.credit, n.revenue
           )
           select 'settlement' as "identity!", organization as "organization?", number as "posting?",
               null::uuid as cargo, wrong.name || wrong.expected as expected, wrong.name || wrong.found as found
           from summed cross join lateral (values
               ('charged ', charged, credit), ('worth ', worth, revenue)
           ) wrong (name, expected, found)
           where case when partly then wrong.expected > wrong.found else wrong.expected <> wrong.found end
           limit 100"#,
            $kept
            $(, $argument)*
        )
    };
}
pub(super) use amount_mismatches;

/// Compares each settlement with its cargo: the charges, and the worth of the work. Where some of
/// its cargo was dropped, the rest must not sum to more.
pub(super) async fn find_amount_mismatches(
    tx: &mut Transaction,
    since: Timestamp,
    kept: Uuid,
) -> Result<Vec<LedgerFault>, Error> {
    let rows = amount_mismatches!(
        "from shard.posting p cross join unnest(p.cargo) as item (id)
         where p.at >= $2 and p.kind = 'settlement'",
        kept,
        since
    )
    .fetch_all(&mut **tx)
    .await?;
    faults_from_rows(rows)
}

/// Finds cargo in the settlement of another organization, or of another time than its outcome.
/// So no later settlement can name the same cargo again.
pub(super) async fn find_misplaced_cargo(
    tx: &mut Transaction,
    since: Timestamp,
    kept: Uuid,
) -> Result<Vec<LedgerFault>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"select 'posted' as "identity!", p.organization as "organization?", p.number as "posting?",
               item.id as "cargo?",
               'org_' || replace(p.organization::text, '-', '') || ' at ' || p.at as expected,
               'org_' || replace(c.organization::text, '-', '') || ' at ' || c.completed_at as found
           from shard.posting p
           cross join unnest(p.cargo) as item (id)
           left join shard.cargo c on c.id = item.id and c.id >= $2
           where p.at >= $1 and item.id >= $2
               and (c.organization, c.completed_at) is distinct from (p.organization, p.at)
           limit 100"#,
        since,
        kept
    )
    .fetch_all(&mut **tx)
    .await?;
    faults_from_rows(rows)
}

/// Finds cargo that two postings name, and charged cargo that none names.
pub(super) async fn find_miscounted_cargo(
    tx: &mut Transaction,
    kept: Uuid,
) -> Result<Vec<LedgerFault>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"with named as (
               select item.id, count(*) as count, max(p.number) as number,
                   (array_agg(p.organization))[1] as organization
               from shard.posting p cross join unnest(p.cargo) as item (id)
               group by item.id
           ), charged as (
               select c.id, c.organization from shard.outcome o join shard.cargo c on c.id = o.cargo
               where o.charged > 0 and o.cargo >= $1 and c.id >= $1
           )
           select 'posted' as "identity!", coalesce(n.organization, c.organization) as "organization?",
               n.number as "posting?", coalesce(n.id, c.id) as "cargo?",
               '1 posting' as expected, coalesce(n.count, 0) || ' postings' as found
           from named n full join charged c on c.id = n.id
           where coalesce(n.count, 0) <> 1
           limit 100"#,
        kept
    )
    .fetch_all(&mut **tx)
    .await?;
    faults_from_rows(rows)
}

/// Compares all settlements of an organization with all its charges. The closing balances of a day
/// replace its outcomes once these are dropped, and the opening balance what left of both.
pub(super) async fn find_total_mismatches(tx: &mut Transaction) -> Result<Vec<LedgerFault>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"with kept as (
               select c.organization, o.tableoid as part, sum(o.charged) as charged
               from shard.outcome o join shard.cargo c on c.id = o.cargo
               where o.charged is not null
               group by 1, 2
           ), days as (
               select k.organization, to_date(right(part.relname, 8), 'YYYYMMDD') as day, k.charged
               from kept k join pg_class part on part.oid = k.part
           ), charged as (
               select organization, sum(charged) as sum from (
                   select organization, coalesce(d.charged, k.charged) as charged
                   from days d full join shard.closing k using (organization, day)
                   union all
                   select organization, charged from shard.opening
               ) amounts group by organization
           ), settled as (
               select organization, sum(settled) as sum from (
                   select organization, -credit as settled from shard.posting
                   where kind = 'settlement'
                   union all
                   select organization, settled from shard.opening
               ) amounts group by organization
           )
           select 'charges' as "identity!", organization as "organization?",
               null::bigint as posting, null::uuid as cargo,
               coalesce(c.sum, 0)::text as expected, coalesce(s.sum, 0)::text as found
           from charged c full join settled s using (organization)
           where coalesce(c.sum, 0) <> coalesce(s.sum, 0)
           limit 100"#
    )
    .fetch_all(&mut **tx)
    .await?;
    faults_from_rows(rows)
}
