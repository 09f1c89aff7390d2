//! Compares the rows of capped API keys with their cargo. A fault names the key in its amounts,
//! and the organization.

use crate::Error;
use crate::Transaction;
use crate::shard::ledger_audit::fault::{LedgerFault, Row, faults_from_rows};

/// Compares the held amounts with the holds of open cargo.
pub(super) async fn find_held_mismatches(tx: &mut Transaction) -> Result<Vec<LedgerFault>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"select 'key_held' as "identity!", coalesce(k.organization, open.organization) as "organization?",
               null::bigint as posting, null::uuid as cargo,
               coalesce(open.held, 0) || ' of key ' || api_key || ' in ' || month as expected,
               coalesce(k.held, 0) || ' of key ' || api_key || ' in ' || month as found
           from shard.key_spending k
           full join (
               select spending_key as api_key, organization,
                   date_trunc('month', created_at at time zone 'UTC')::date as month,
                   sum(held) as held
               from shard.cargo where completed_at is null and spending_key is not null
               group by 1, 2, 3
           ) open using (api_key, month)
           where coalesce(k.held, 0) <> coalesce(open.held, 0)
           limit 100"#
    )
    .fetch_all(&mut **tx)
    .await?;
    faults_from_rows(rows)
}

/// Compares the spent amounts with the charges, if no day of the month was dropped.
pub(super) async fn find_spent_mismatches(tx: &mut Transaction) -> Result<Vec<LedgerFault>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"select 'key_spent' as "identity!", coalesce(k.organization, spent.organization) as "organization?",
               null::bigint as posting, null::uuid as cargo,
               coalesce(spent.charged, 0) || ' of key ' || api_key || ' in ' || month as expected,
               coalesce(k.spent, 0) || ' of key ' || api_key || ' in ' || month as found
           from shard.key_spending k
           full join (
               select c.spending_key as api_key, c.organization,
                   date_trunc('month', c.created_at at time zone 'UTC')::date as month,
                   sum(o.charged) as charged
               from shard.cargo c join shard.outcome o on o.cargo = c.id
               where c.spending_key is not null
               group by 1, 2, 3
           ) spent using (api_key, month)
           where coalesce(k.spent, 0) <> coalesce(spent.charged, 0)
               and not exists (select from shard.closing d
                   where d.organization = coalesce(k.organization, spent.organization)
                       and d.day >= month and d.day < (month + interval '1 month')::date)
           limit 100"#
    )
    .fetch_all(&mut **tx)
    .await?;
    faults_from_rows(rows)
}
