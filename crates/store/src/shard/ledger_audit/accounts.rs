//! Compares accounts with their postings, and the month's used tokens with its outcomes.

use crate::Error;
use crate::Transaction;
use crate::shard::ledger_audit::fault::{LedgerFault, Row, faults_from_rows};

/// Compares each account with its last posting, or with its opening balance once all postings have
/// left: one or two index lookups per account.
pub(super) async fn find_balance_mismatches(
    tx: &mut Transaction,
) -> Result<Vec<LedgerFault>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"select wrong.identity as "identity!", a.organization as "organization?",
               last.number as "posting?", null::uuid as cargo, wrong.expected, wrong.found
           from shard.account a
           left join shard.opening o on o.organization = a.organization
           left join lateral (
               select number, balance from shard.posting p
               where p.organization = a.organization order by number desc limit 1
           ) kept on true
           cross join lateral (
               select coalesce(kept.number, o.number) as number,
                   coalesce(kept.balance, o.balance) as balance
           ) last
           cross join lateral (values
               ('account', 'postings ' || coalesce(last.number, 0), 'postings ' || a.postings),
               ('account', 'posted ' || coalesce(last.balance, 0), 'posted ' || a.posted),
               ('overdraft', 'held from 0 to ' || a.posted,
                   case when a.held between 0 and a.posted
                       then 'held from 0 to ' || a.posted else 'held ' || a.held end)
           ) wrong (identity, expected, found)
           where wrong.expected <> wrong.found
           limit 100"#
    )
    .fetch_all(&mut **tx)
    .await?;
    faults_from_rows(rows)
}

/// Finds organizations with postings, of those that the pass has read, and without an account.
pub(super) async fn find_missing(
    tx: &mut Transaction,
    pass: i64,
) -> Result<Vec<LedgerFault>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"select 'account' as "identity!", s.organization as "organization?",
               null::bigint as posting, null::uuid as cargo,
               'postings ' || s.number as expected, 'no account' as found
           from shard.ledger_settled s
           where s.pass = $1 and not exists (
               select from shard.account a where a.organization = s.organization)
           limit 100"#,
        pass
    )
    .fetch_all(&mut **tx)
    .await?;
    faults_from_rows(rows)
}

/// Compares each account with its opening balance and all its postings. Also finds postings without
/// an account.
pub(super) async fn find_sum_mismatches(tx: &mut Transaction) -> Result<Vec<LedgerFault>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"select 'account' as "identity!", organization as "organization?",
               null::bigint as posting, null::uuid as cargo,
               coalesce(p.count, 0) || ' postings, sum ' || coalesce(p.credit, 0) as expected,
               a.postings || ' postings, posted ' || a.posted as found
           from shard.account a
           full join (
               select organization, sum(count) as count, sum(credit) as credit from (
                   select organization, 1 as count, credit from shard.posting
                   union all
                   select organization, number, balance from shard.opening
               ) booked group by organization
           ) p using (organization)
           where a.postings is distinct from coalesce(p.count, 0)
               or a.posted is distinct from coalesce(p.credit, 0)
           limit 100"#
    )
    .fetch_all(&mut **tx)
    .await?;
    faults_from_rows(rows)
}

/// Compares the month's used tokens with the outcomes, if no day of the month was dropped.
pub(super) async fn find_token_mismatches(tx: &mut Transaction) -> Result<Vec<LedgerFault>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"select 'used' as "identity!", a.organization as "organization?",
               null::bigint as posting, null::uuid as cargo,
               coalesce(used.tokens, 0)::text as expected, a.tokens_used::text as found
           from shard.account a
           left join (
               select c.organization,
                   date_trunc('month', c.created_at at time zone 'UTC')::date as month,
                   sum(least(o.input_tokens + o.output_tokens, c.reserved_tokens)) as tokens
               from shard.cargo c join shard.outcome o on o.cargo = c.id
               where o.success and c.reserved_tokens > 0
               group by 1, 2
           ) used on used.organization = a.organization and used.month = a.period
           where a.tokens_used <> coalesce(used.tokens, 0)
               and not exists (select from shard.closing k
                   where k.organization = a.organization and k.day >= a.period)
               and not exists (select from shard.opening o
                   where o.organization = a.organization and o.closed_day >= a.period)
           limit 100"#
    )
    .fetch_all(&mut **tx)
    .await?;
    faults_from_rows(rows)
}
