//! Checks chosen postings: each one alone, against the one before, and against its cargo.

use sqlx::types::Uuid;

use crate::Error;
use crate::Transaction;
use crate::shard::ledger_audit::fault::{LedgerFault, Row, faults_from_rows};
use crate::shard::ledger_audit::kept_days::KeptDays;
use crate::shard::ledger_audit::settlements::amount_mismatches;

/// Postings by organization and number, as columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PostingSlice {
    pub(super) organization: Vec<Uuid>,
    pub(super) number: Vec<i64>,
}

impl PostingSlice {
    pub(super) fn push(&mut self, organization: Uuid, number: i64) {
        self.organization.push(organization);
        self.number.push(number);
    }

    pub(super) const fn len(&self) -> usize {
        self.number.len()
    }

    pub(super) fn last(&self) -> Option<(Uuid, i64)> {
        let organization = self.organization.last().copied();
        organization.zip(self.number.last().copied())
    }
}

/// The faults of these postings. Cargo of days that are not kept was dropped.
pub(super) async fn find_faults(
    tx: &mut Transaction,
    postings: &PostingSlice,
    kept: KeptDays,
) -> Result<Vec<LedgerFault>, Error> {
    let mut faults = find_broken_lines(tx, postings).await?;
    faults.extend(find_amount_mismatches(tx, postings, kept).await?);
    faults.extend(find_misplaced_cargo(tx, postings, kept).await?);
    Ok(faults)
}

async fn find_broken_lines(
    tx: &mut Transaction,
    postings: &PostingSlice,
) -> Result<Vec<LedgerFault>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"select wrong.identity as "identity!", p.organization as "organization?",
               p.number as "posting?", null::uuid as cargo, wrong.expected, wrong.found
           from unnest($1::uuid[], $2::bigint[]) as chosen (organization, number)
           join shard.posting p
               on p.organization = chosen.organization and p.number = chosen.number
           left join lateral (
               -- The opening balance stands for the postings before the first one that is left.
               select balance from shard.posting
               where organization = p.organization and number = p.number - 1
               union all
               select balance from shard.opening
               where organization = p.organization and number = p.number - 1
           ) before on true
           cross join lateral (values
               ('entries', '0', (p.credit::numeric + p.revenue + p.loss + p.funding)::text),
               ('chain',
                   case when p.number <> 1 and before.balance is null
                       then 'posting ' || p.number - 1 || ' before it'
                       else 'balance ' || coalesce(before.balance, 0)::numeric + p.credit end,
                   case when p.number <> 1 and before.balance is null
                       then 'none' else 'balance ' || p.balance end)
           ) wrong (identity, expected, found)
           where wrong.expected <> wrong.found
           limit 100"#,
        &postings.organization,
        &postings.number
    )
    .fetch_all(&mut **tx)
    .await?;
    faults_from_rows(rows)
}

/// Where some of the cargo was dropped, the rest must not sum to more.
async fn find_amount_mismatches(
    tx: &mut Transaction,
    postings: &PostingSlice,
    kept: KeptDays,
) -> Result<Vec<LedgerFault>, Error> {
    let rows = amount_mismatches!(
        "from unnest($2::uuid[], $3::bigint[]) as chosen (organization, number)
         join shard.posting p
             on p.organization = chosen.organization and p.number = chosen.number
         cross join unnest(p.cargo) as item (id)
         where p.kind = 'settlement'
             and p.at >= $4::date::timestamp at time zone 'UTC'",
        kept.first_id,
        &postings.organization,
        &postings.number,
        kept.first_day
    )
    .fetch_all(&mut **tx)
    .await?;
    faults_from_rows(rows)
}

/// Finds cargo in the settlement of another organization, or of another time than its outcome.
async fn find_misplaced_cargo(
    tx: &mut Transaction,
    postings: &PostingSlice,
    kept: KeptDays,
) -> Result<Vec<LedgerFault>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"select 'posted' as "identity!", p.organization as "organization?", p.number as "posting?",
               item.id as "cargo?",
               'org_' || replace(p.organization::text, '-', '') || ' at ' || p.at as expected,
               'org_' || replace(c.organization::text, '-', '') || ' at ' || c.completed_at as found
           from unnest($1::uuid[], $2::bigint[]) as chosen (organization, number)
           join shard.posting p
               on p.organization = chosen.organization and p.number = chosen.number
           cross join unnest(p.cargo) as item (id)
           left join shard.cargo c on c.id = item.id and c.id >= $3
           where item.id >= $3 and p.at >= $4::date::timestamp at time zone 'UTC'
               and (c.organization, c.completed_at) is distinct from (p.organization, p.at)
           limit 100"#,
        &postings.organization,
        &postings.number,
        kept.first_id,
        kept.first_day
    )
    .fetch_all(&mut **tx)
    .await?;
    faults_from_rows(rows)
}
