//! The sums of a pass over cargo and outcomes, and the comparison of accounts with them.
//!
//! The charges of dropped days, and cargo up to the position of the pass, are in its sums. Newer
//! cargo is summed when accounts are compared. A cargo that ends moves from the sums of open cargo to
//! those of outcomes when the audit takes the row that its group of outcomes left.

use chrono::NaiveDate;
use sqlx::types::Uuid;

use crate::Error;
use crate::Transaction;
use crate::shard::ledger_audit::cargo_slice::CargoSlice;
use crate::shard::ledger_audit::fault::{LedgerFault, Row, faults_from_rows};
use crate::shard::ledger_audit::snapshot;

/// Compares accounts, rows of capped keys and settlements with the sums of a pass and with newer cargo.
macro_rules! differences {
    ($tx:expr, $pass:expr, $newer:expr, $first_day:expr) => {
        sqlx::query_as!(
            Row,
            r#"with newer as (
               select c.organization, date_trunc('month', c.created_at at time zone 'UTC')::date as month,
                   coalesce(c.spending_key, '00000000-0000-0000-0000-000000000000') as api_key,
                   case when c.completed_at is null then c.held end as held,
                   case when c.completed_at is null then c.reserved_tokens end as reserved,
                   case when o.success and c.reserved_tokens > 0
                       then least(o.input_tokens + o.output_tokens, c.reserved_tokens) end as used,
                   o.charged
               from (select id, organization, created_at, spending_key, completed_at, held,
                         reserved_tokens
                     from shard.cargo where id >= $2) c
               left join (select cargo, success, charged, input_tokens, output_tokens
                     from shard.outcome where cargo >= $2) o on o.cargo = c.id
               where c.held is not null or o.charged is not null
           ), summed as materialized (
               select organization, month, api_key, coalesce(sum(held), 0) as held,
                   coalesce(sum(reserved), 0) as reserved, coalesce(sum(used), 0) as used,
                   coalesce(sum(charged), 0) as charged
               from (select organization, month, api_key, held, reserved, used, charged
                     from shard.ledger_sum where pass = $1
                     union all
                     select organization, month, api_key, held, reserved, used, charged
                     from newer) parts
               group by 1, 2, 3
           ), of_account as (
               select organization, a.period, a.held, a.tokens_reserved, a.tokens_used,
                   coalesce(sum(s.held), 0) as open_held,
                   coalesce(sum(s.reserved) filter (where s.month = a.period), 0) as open_tokens,
                   coalesce(sum(s.used) filter (where s.month = a.period), 0) as used
               from shard.account a full join summed s using (organization)
               group by organization, a.period, a.held, a.tokens_reserved, a.tokens_used
           ), account_faults as (
               select wrong.identity, a.organization, wrong.expected::text, wrong.found::text
               from of_account a cross join lateral (values
                   ('held', a.open_held, coalesce(a.held, 0)),
                   ('reserved', a.open_tokens, coalesce(a.tokens_reserved, 0)),
                   ('used', a.used, coalesce(a.tokens_used, 0))
               ) wrong (identity, expected, found)
               where wrong.expected <> wrong.found
                   -- Tokens cannot be compared if outcomes of the month were dropped.
                   and (wrong.identity <> 'used' or not exists (
                       select from shard.closing k where k.organization = a.organization
                           and k.day >= a.period and k.day < $3
                       union all
                       select from shard.opening o where o.organization = a.organization
                           and o.closed_day >= a.period))
           ), of_key as (
               select api_key, month, coalesce(k.organization, s.organization) as organization,
                   coalesce(k.held, 0) as held, coalesce(k.spent, 0) as spent,
                   coalesce(s.held, 0) as open_held, coalesce(s.charged, 0) as charged
               from shard.key_spending k
               full join (
                   select api_key, month, (array_agg(organization))[1] as organization,
                       sum(held) as held, sum(charged) as charged
                   from summed where api_key <> '00000000-0000-0000-0000-000000000000'
                   group by 1, 2
               ) s using (api_key, month)
           ), key_faults as (
               select wrong.identity, k.organization,
                   wrong.expected || ' of key ' || k.api_key || ' in ' || k.month as expected,
                   wrong.found || ' of key ' || k.api_key || ' in ' || k.month as found
               from of_key k cross join lateral (values
                   ('key_held', k.open_held, k.held), ('key_spent', k.charged, k.spent)
               ) wrong (identity, expected, found)
               where wrong.expected <> wrong.found
                   and (wrong.identity <> 'key_spent' or not exists (
                       select from shard.closing d where d.organization = k.organization
                           and d.day >= k.month and d.day < (k.month + interval '1 month')::date
                           and d.day < $3))
           ), charged as (
               select organization, sum(charged) as charged from summed group by 1
           ), settled as (
               -- The opening balance stands for postings that left before the pass read them.
               select organization, case when o.number > coalesce(s.number, 0) then o.settled
                   else s.settled end as settled
               from (select organization, number, settled from shard.ledger_settled
                     where pass = $1) s
               full join shard.opening o using (organization)
           ), charges_faults as (
               select 'charges' as identity, organization,
                   coalesce(c.charged, 0)::text as expected, coalesce(s.settled, 0)::text as found
               from charged c
               full join settled s using (organization)
               where coalesce(c.charged, 0) <> coalesce(s.settled, 0)
           )
           select f.identity as "identity!", f.organization as "organization?",
               null::bigint as posting, null::uuid as cargo, f.expected, f.found
           from (select * from account_faults union all select * from key_faults
                 union all select * from charges_faults) f
           -- Sums of outcomes are incomplete where cargo ended without a row in shard.unaudited.
           where f.identity in ('held', 'reserved', 'key_held') or not exists (
               select from shard.ledger_gap g where g.pass = $1 and g.organization = f.organization)
           order by 1, 2, f.expected
           limit 100"#,
            $pass,
            $newer,
            $first_day
        )
        .fetch_all(&mut **$tx)
        .await
    };
}

/// Adds the charges of dropped days. A pass reads them once, when it begins: a closing balance that
/// becomes part of the opening balance later changes nothing, and a minute's proof costs the same
/// however many days were dropped.
pub(super) async fn add_dropped_days(
    tx: &mut Transaction,
    pass: i64,
    first_day: NaiveDate,
) -> Result<(), Error> {
    sqlx::query!(
        "insert into shard.ledger_sum
             (pass, organization, month, api_key, held, reserved, used, charged)
         -- No cargo is of this month, so no other sum is added here.
         select $1, organization, '0001-01-01'::date, '00000000-0000-0000-0000-000000000000'::uuid,
             0, 0, 0, sum(charged)::bigint
         from (select organization, charged from shard.closing where day < $2
               union all
               select organization, charged from shard.opening) parts
         group by organization having sum(charged) <> 0",
        pass,
        first_day
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Adds cargo that the pass has not read yet.
pub(super) async fn add_slice(
    tx: &mut Transaction,
    pass: i64,
    slice: &CargoSlice,
) -> Result<(), Error> {
    snapshot::allow_nested_loops(tx, false).await?;
    sqlx::query!(
        "insert into shard.ledger_sum
             (pass, organization, month, api_key, held, reserved, used, charged)
         select $1, c.organization, date_trunc('month', c.created_at at time zone 'UTC')::date,
             coalesce(c.spending_key, '00000000-0000-0000-0000-000000000000'),
             coalesce(sum(c.held) filter (where c.completed_at is null), 0),
             coalesce(sum(c.reserved_tokens) filter (where c.completed_at is null), 0),
             coalesce(sum(least(o.input_tokens + o.output_tokens, c.reserved_tokens))
                 filter (where o.success and c.reserved_tokens > 0), 0),
             coalesce(sum(o.charged), 0)
         from (select id, organization, created_at, spending_key, completed_at, held, reserved_tokens
               from shard.cargo where id >= $2 and id <= $3) c
         left join (select cargo, success, charged, input_tokens, output_tokens
               from shard.outcome where cargo >= $2 and cargo <= $3) o on o.cargo = c.id
         where c.held is not null or o.charged is not null
         group by 2, 3, 4
         on conflict (pass, organization, month, api_key) do update
             set held = ledger_sum.held + excluded.held,
                 reserved = ledger_sum.reserved + excluded.reserved,
                 used = ledger_sum.used + excluded.used,
                 charged = ledger_sum.charged + excluded.charged",
        pass,
        slice.first,
        slice.last
    )
    .execute(&mut **tx)
    .await?;
    snapshot::allow_nested_loops(tx, true).await
}

/// Moves cargo that has ended, in each pass that has read it while it was open.
pub(super) async fn move_ended(tx: &mut Transaction, ended: &CargoSlice) -> Result<(), Error> {
    snapshot::allow_nested_loops(tx, false).await?;
    sqlx::query!(
        "insert into shard.ledger_sum
             (pass, organization, month, api_key, held, reserved, used, charged)
         select p.number, c.organization, date_trunc('month', c.created_at at time zone 'UTC')::date,
             coalesce(c.spending_key, '00000000-0000-0000-0000-000000000000'),
             -coalesce(sum(c.held), 0), -coalesce(sum(c.reserved_tokens), 0),
             coalesce(sum(least(o.input_tokens + o.output_tokens, c.reserved_tokens))
                 filter (where o.success and c.reserved_tokens > 0), 0),
             coalesce(sum(o.charged), 0)
         from (select id, organization, created_at, spending_key, completed_at, held, reserved_tokens
               from shard.cargo where id >= $1 and id <= $2 and id = any($3)) c
         left join (select cargo, success, charged, input_tokens, output_tokens
               from shard.outcome where cargo >= $1 and cargo <= $2 and cargo = any($3)) o
             on o.cargo = c.id
         join shard.ledger_pass p on c.id <= p.position
         where c.completed_at is not null and (c.held is not null or o.charged is not null)
         group by 1, 2, 3, 4
         on conflict (pass, organization, month, api_key) do update
             set held = ledger_sum.held + excluded.held,
                 reserved = ledger_sum.reserved + excluded.reserved,
                 used = ledger_sum.used + excluded.used,
                 charged = ledger_sum.charged + excluded.charged",
        ended.first,
        ended.last,
        ended.ids.as_deref()
    )
    .execute(&mut **tx)
    .await?;
    snapshot::allow_nested_loops(tx, true).await
}

/// The differences. Needs a pass whose completions and postings were all taken in this transaction.
pub(super) async fn find_mismatches(
    tx: &mut Transaction,
    pass: i64,
    position: Uuid,
    first_day: NaiveDate,
) -> Result<Vec<LedgerFault>, Error> {
    snapshot::allow_nested_loops(tx, false).await?;
    let newer = CargoSlice::after(position);
    let rows = differences!(tx, pass, newer.first, first_day)?;
    snapshot::allow_nested_loops(tx, true).await?;
    faults_from_rows(rows)
}

/// Reads all open cargo of these organizations again, up to the position of each pass. Returns the
/// organizations for which a sum of `pass` was different: some of their
/// cargo ended without a row in shard.unaudited.
pub(super) async fn read_open_again(
    tx: &mut Transaction,
    pass: i64,
    organizations: &[Uuid],
    first_open: Uuid,
) -> Result<Vec<Uuid>, Error> {
    let changed = sqlx::query_scalar!(
        r#"with open as materialized (
               select c.id, c.organization, date_trunc('month', c.created_at at time zone 'UTC')::date as month,
                   coalesce(c.spending_key, '00000000-0000-0000-0000-000000000000') as api_key,
                   c.held, coalesce(c.reserved_tokens, 0) as reserved
               from shard.cargo c
               where c.id >= $3 and c.organization = any($2)
                   and c.completed_at is null and c.held is not null
           ), found as (
               select p.number as pass, o.organization, o.month, o.api_key,
                   sum(o.held)::bigint as held, sum(o.reserved)::bigint as reserved
               from open o join shard.ledger_pass p on o.id <= p.position
               group by 1, 2, 3, 4
           ), compared as (
               select pass, organization, month, api_key,
                   coalesce(f.held, 0) as held, coalesce(f.reserved, 0) as reserved,
                   s.held is distinct from coalesce(f.held, 0)
                       or s.reserved is distinct from coalesce(f.reserved, 0) as is_new
               from (select * from shard.ledger_sum where organization = any($2)) s
               full join found f using (pass, organization, month, api_key)
           ), written as (
               insert into shard.ledger_sum
                   (pass, organization, month, api_key, held, reserved, used, charged)
               select pass, organization, month, api_key, held, reserved, 0, 0
               from compared where is_new
               on conflict (pass, organization, month, api_key) do update
                   set held = excluded.held, reserved = excluded.reserved
           )
           select distinct organization as "organization!" from compared where is_new and pass = $1"#,
        pass,
        organizations,
        first_open
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(changed)
}

/// From now on, the sums of outcomes of these organizations are not compared in any pass that exists.
pub(super) async fn record_gaps(tx: &mut Transaction, organizations: &[Uuid]) -> Result<(), Error> {
    sqlx::query!(
        "insert into shard.ledger_gap (pass, organization)
         select p.number, gap.organization
         from shard.ledger_pass p cross join unnest($1::uuid[]) as gap (organization)
         on conflict do nothing",
        organizations
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
