//! Compares each cargo with its outcome: one settlement or release, and none without an outcome.

use crate::Error;
use crate::Transaction;
use crate::shard::ledger_audit::cargo_slice::CargoSlice;
use crate::shard::ledger_audit::fault::{LedgerFault, Row, faults_from_rows};

/// Recomputes the charge of each success from its usage and the prices of its hold.
pub(super) async fn find_mismatches(
    tx: &mut Transaction,
    slice: &CargoSlice,
) -> Result<Vec<LedgerFault>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"with both_sides as (
               select c.organization, coalesce(c.id, o.cargo) as cargo, c.id is not null as loaded,
                   c.completed_at is not null as completed, c.success as completed_as, c.held,
                   o.cargo is not null as ended, o.success, o.charged,
                   case when o.cargo is null or c.held is null then null
                        when not o.success then 0
                        else least(c.held, shard.worth(c.price_input, c.price_output, c.price_buckets,
                            o.input_tokens, o.cached_tokens, o.cache_write_tokens,
                            o.cache_write_1h_tokens, o.output_tokens))
                   end as due
               from (select id, organization, completed_at, success, held, price_input, price_output,
                         price_buckets
                     from shard.cargo
                     where id >= $1 and id <= $2 and ($3::uuid[] is null or id = any($3))) c
               full join (select cargo, success, charged, input_tokens, cached_tokens,
                         cache_write_tokens, cache_write_1h_tokens, output_tokens
                     from shard.outcome
                     where cargo >= $1 and cargo <= $2
                         and ($3::uuid[] is null or cargo = any($3))) o on o.cargo = c.id
           ), spoiled as (
               select * from both_sides
               where not loaded or completed <> ended or success <> completed_as
                   or charged is distinct from due or charged not between 0 and held
           )
           -- Words are found for the few that are wrong.
           select wrong.identity as "identity!", organization as "organization?",
               null::bigint as posting, cargo as "cargo?", wrong.expected, wrong.found
           from spoiled cross join lateral (values
               ('outcome', 'its cargo', case when loaded then 'its cargo' else 'none' end),
               ('outcome', case when completed then 'an outcome' else 'no outcome' end,
                   case when ended then 'an outcome' else 'no outcome' end),
               ('outcome', 'success ' || completed_as, 'success ' || success),
               ('charge', 'charged ' || coalesce(due::text, 'nothing'),
                   'charged ' || coalesce(charged::text, 'nothing')),
               ('charge', 'charged from 0 to ' || held,
                   case when charged between 0 and held
                       then 'charged from 0 to ' || held else 'charged ' || charged end)
           ) wrong (identity, expected, found)
           where wrong.expected <> wrong.found
           limit 100"#,
        slice.first,
        slice.last,
        slice.ids.as_deref()
    )
    .fetch_all(&mut **tx)
    .await?;
    faults_from_rows(rows)
}

/// Finds charged cargo that is not in exactly one posting of its organization and of the time of
/// its outcome.
pub(super) async fn find_unposted(
    tx: &mut Transaction,
    slice: &CargoSlice,
) -> Result<Vec<LedgerFault>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"with charged as materialized (
               select c.id, c.organization, c.completed_at
               from (select id, organization, completed_at from shard.cargo
                     where id >= $1 and id <= $2 and ($3::uuid[] is null or id = any($3))) c
               join (select cargo, charged from shard.outcome
                     where cargo >= $1 and cargo <= $2
                         and ($3::uuid[] is null or cargo = any($3))) o on o.cargo = c.id
               where o.charged > 0
           ), named as (
               select p.organization, p.number, item.id
               from shard.posting p cross join unnest(p.cargo) as item (id)
               where p.at = any(array(select distinct completed_at from charged))
           )
           select 'posted' as "identity!", c.organization as "organization?",
               max(n.number) as "posting?", c.id as "cargo?",
               '1 posting' as expected, count(n.id) || ' postings' as found
           from charged c left join named n on n.id = c.id and n.organization = c.organization
           group by c.organization, c.id
           having count(n.id) <> 1
           limit 100"#,
        slice.first,
        slice.last,
        slice.ids.as_deref()
    )
    .fetch_all(&mut **tx)
    .await?;
    faults_from_rows(rows)
}
