//! Compares the held amounts and reserved tokens of accounts with their open cargo.

use sqlx::types::Uuid;

use crate::Error;
use crate::Transaction;
use crate::shard::ledger_audit::fault::{LedgerFault, Row, faults_from_rows};

/// Sums `$open` by organization and month, and compares the sums with the account.
macro_rules! against_accounts {
    ($tx:expr, $open:literal $(, $argument:expr)*) => {
        sqlx::query_as!(
            Row,
            "with open as ("
                + $open
                + r#"), summed as (
                   select organization, date_trunc('month', created_at at time zone 'UTC')::date as month,
                       sum(held) as held, sum(reserved_tokens) as tokens
                   from open group by 1, 2
               ), compared as (
                   select organization, a.held, a.tokens_reserved, coalesce(sum(s.held), 0) as open_held,
                       coalesce(sum(s.tokens) filter (where s.month = a.period), 0) as open_tokens
                   from shard.account a full join summed s using (organization)
                   group by organization, a.held, a.tokens_reserved
               )
               select wrong.identity as "identity!", organization as "organization?",
                   null::bigint as posting, null::uuid as cargo,
                   wrong.expected::text as expected, wrong.found::text as found
               from compared cross join lateral (values
                   ('held', open_held, held), ('reserved', open_tokens, tokens_reserved)
               ) wrong (identity, expected, found)
               where wrong.expected is distinct from wrong.found
               limit 100"#
            $(, $argument)*
        )
        .fetch_all(&mut **$tx)
        .await
    };
}

/// Reads all cargo that is not dropped yet.
pub(super) async fn check_all(tx: &mut Transaction) -> Result<Vec<LedgerFault>, Error> {
    faults_from_rows(against_accounts!(
        tx,
        "select organization, created_at, held, reserved_tokens from shard.cargo
         where completed_at is null and held is not null"
    )?)
}

/// The smallest id of all cargo that waits or is in a batch.
pub(super) async fn find_first_open_id(tx: &mut Transaction) -> Result<Uuid, Error> {
    let first = sqlx::query_scalar!(
        r#"select cargo as "cargo!" from (
               select waits.cargo from shard.lane l cross join lateral (
                   select cargo from shard.waiting where lane = l.id order by cargo limit 1
               ) waits
               union all
               select item.id from shard.batch b cross join unnest(b.cargo) as item (id)
               where b.state in ('gathered', 'submitting') and b.node is null
               union all
               select item.id from shard.batch b cross join unnest(b.cargo) as item (id)
               where b.state = 'running' and b.node is null
               union all
               select item.id from shard.batch b cross join unnest(b.cargo) as item (id)
               where b.node is not null
           ) open order by cargo limit 1"#
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(first.unwrap_or(Uuid::max()))
}
