//! Checks the postings alone: each one, and each against the one before.

use domain::time::Timestamp;

use crate::Error;
use crate::Transaction;
use crate::shard::ledger_audit::fault::{LedgerFault, Row, faults_from_rows};

pub(super) async fn find_unbalanced(
    tx: &mut Transaction,
    since: Timestamp,
) -> Result<Vec<LedgerFault>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"select 'entries' as "identity!", organization as "organization?", number as "posting?",
               null::uuid as cargo, '0' as expected,
               (credit::numeric + revenue + loss + funding)::text as found
           from shard.posting
           where at >= $1 and credit::numeric + revenue + loss + funding <> 0
           limit 100"#,
        since
    )
    .fetch_all(&mut **tx)
    .await?;
    faults_from_rows(rows)
}

/// Numbers are unique, so there is no gap if every posting has a predecessor. The opening balance
/// stands for those that left.
pub(super) async fn find_broken_chains(
    tx: &mut Transaction,
    since: Timestamp,
) -> Result<Vec<LedgerFault>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"select 'chain' as "identity!", p.organization as "organization?", p.number as "posting?",
               null::uuid as cargo,
               case when p.number > 1 and before.number is null
                   then 'posting ' || p.number - 1 || ' before it'
                   else 'balance ' || coalesce(before.balance, 0)::numeric + p.credit end as expected,
               case when p.number > 1 and before.number is null
                   then 'none' else 'balance ' || p.balance end as found
           from shard.posting p
           left join (
               select organization, number, balance from shard.posting
               union all
               select organization, number, balance from shard.opening where number > 0
           ) before on before.organization = p.organization and before.number = p.number - 1
           where p.at >= $1 and (p.number < 1 or (p.number > 1 and before.number is null)
               or p.balance <> coalesce(before.balance, 0)::numeric + p.credit)
           limit 100"#,
        since
    )
    .fetch_all(&mut **tx)
    .await?;
    faults_from_rows(rows)
}
