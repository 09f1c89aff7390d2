//! A pass: a walk over all kept cargo and postings in short transactions. It may take hours; what
//! changes behind its position is added to its sums, so they are exact when it arrives at the end.

use chrono::NaiveDate;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Transaction;
use crate::shard::ledger_audit::cargo_slice::CargoSlice;
use crate::shard::ledger_audit::fault::LedgerFault;
use crate::shard::ledger_audit::kept_days::KeptDays;
use crate::shard::ledger_audit::posting_slice::{self, PostingSlice};
use crate::shard::ledger_audit::{known_faults, sums};

/// How many cargo one transaction reads.
const MAX_CARGO_PER_SLICE: i64 = 20_000;
/// How many postings one transaction of a pass reads, if they name few cargo.
const MAX_POSTINGS_PER_SLICE: i64 = 1_000;
/// How many new postings one transaction reads; each names up to a thousand cargo.
const MAX_NEW_POSTINGS: i64 = 200;

#[derive(Debug, Clone)]
pub(super) struct LedgerPass {
    pub(super) number: i64,
    pub(super) started_at: Timestamp,
    /// Closing balances of earlier days are in its sums in place of their cargo.
    pub(super) first_day: NaiveDate,
    pub(super) position: Uuid,
    /// The last posting that was read. None: all were.
    posting: Option<(Uuid, i64)>,
    pub(super) finished_at: Option<Timestamp>,
    pub(super) proven_at: Option<Timestamp>,
}

/// What a step of a pass did.
#[derive(Debug, Default)]
pub(super) struct SliceResult {
    pub(super) faults: Vec<LedgerFault>,
    /// Nothing is left to read.
    pub(super) is_complete: bool,
}

/// The passes, the newest first.
pub(super) async fn list(tx: &mut Transaction) -> Result<Vec<LedgerPass>, Error> {
    let rows = sqlx::query!(
        "select number, started_at, first_day, position, posting_organization, posting_number,
             finished_at, proven_at
         from shard.ledger_pass order by number desc"
    )
    .fetch_all(&mut **tx)
    .await?;
    let passes = rows.into_iter().map(|row| LedgerPass {
        number: row.number,
        started_at: row.started_at,
        first_day: row.first_day,
        position: row.position,
        posting: row.posting_organization.map(|it| (it, row.posting_number)),
        finished_at: row.finished_at,
        proven_at: row.proven_at,
    });
    Ok(passes.collect())
}

impl LedgerPass {
    pub(super) async fn begin(
        tx: &mut Transaction,
        number: i64,
        kept: KeptDays,
        now: Timestamp,
    ) -> Result<Self, Error> {
        sqlx::query!(
            "insert into shard.ledger_pass (number, started_at, first_day, position)
             values ($1, $2, $3, $4)",
            number,
            now,
            kept.first_day,
            kept.first_id
        )
        .execute(&mut **tx)
        .await?;
        sums::add_dropped_days(tx, number, kept.first_day).await?;
        Ok(Self {
            number,
            started_at: now,
            first_day: kept.first_day,
            position: kept.first_id,
            posting: Some((Uuid::nil(), 0)),
            finished_at: None,
            proven_at: None,
        })
    }

    /// Whether days were dropped that it may not have read: then its sums can never be complete.
    pub(super) fn has_lost_days(&self, kept: KeptDays) -> bool {
        self.position < kept.first_id
    }

    /// Reads the next cargo, up to `horizon`.
    pub(super) async fn read_cargo(
        &mut self,
        tx: &mut Transaction,
        horizon: Uuid,
    ) -> Result<SliceResult, Error> {
        let ends = sqlx::query!(
            "select (select id from shard.cargo where id > $1 and id <= $2
                     order by id limit 1 offset $3::bigint - 1) as full,
                 (select id from shard.cargo where id > $1 and id <= $2
                  order by id desc limit 1) as newest",
            self.position,
            horizon,
            MAX_CARGO_PER_SLICE
        )
        .fetch_one(&mut **tx)
        .await?;
        // Not the horizon: after a clock was too far ahead, newer cargo would be before the position.
        let Some(last) = ends.full.or(ends.newest) else {
            return Ok(SliceResult {
                is_complete: true,
                ..SliceResult::default()
            });
        };
        let slice = CargoSlice::between(self.position, last);
        sums::add_slice(tx, self.number, &slice).await?;
        let faults = known_faults::find_cargo_faults(tx, &slice).await?;
        self.position = slice.last;
        self.store_position(tx).await?;
        Ok(SliceResult {
            faults,
            is_complete: ends.full.is_none(),
        })
    }

    /// Reads the next postings in the order of organizations.
    pub(super) async fn read_postings(
        &mut self,
        tx: &mut Transaction,
        kept: KeptDays,
    ) -> Result<SliceResult, Error> {
        let Some((organization, number)) = self.posting else {
            return Ok(SliceResult {
                is_complete: true,
                ..SliceResult::default()
            });
        };
        let rows = sqlx::query!(
            r#"select organization as "organization!", number as "number!" from (
                   select organization, number,
                       row_number() over places as place,
                       -- The cargo of older postings was dropped.
                       sum(case when at < $5::date::timestamp at time zone 'UTC' then 1
                           else 1 + coalesce(cardinality(cargo), 0) end) over places as rows
                   from (select organization, number, at, cargo from shard.posting
                         where (organization, number) > ($1, $2)
                         order by organization, number limit $3) next
                   window places as (order by organization, number)
               ) counted
               where place = 1 or rows <= $4
               order by organization, number"#,
            organization,
            number,
            MAX_POSTINGS_PER_SLICE,
            MAX_CARGO_PER_SLICE,
            kept.first_day
        )
        .fetch_all(&mut **tx)
        .await?;
        let mut postings = PostingSlice::default();
        for row in rows {
            postings.push(row.organization, row.number);
        }
        let faults = self.add_postings(tx, &postings, kept).await?;
        self.posting = postings.last();
        self.store_position(tx).await?;
        Ok(SliceResult {
            faults,
            is_complete: self.posting.is_none(),
        })
    }

    /// Reads postings that were appended after the last one that it has read of their organization.
    pub(super) async fn read_new_postings(
        &self,
        tx: &mut Transaction,
        kept: KeptDays,
    ) -> Result<SliceResult, Error> {
        let rows = sqlx::query!(
            r#"select p.organization as "organization!", p.number as "number!"
               from shard.account a
               left join shard.ledger_settled s on s.pass = $1 and s.organization = a.organization
               cross join lateral (
                   select organization, number from shard.posting p
                   where p.organization = a.organization and p.number > coalesce(s.number, 0)
                   order by number limit $2
               ) p
               where a.postings > coalesce(s.number, 0)
               limit $2"#,
            self.number,
            MAX_NEW_POSTINGS
        )
        .fetch_all(&mut **tx)
        .await?;
        let mut postings = PostingSlice::default();
        for row in rows {
            postings.push(row.organization, row.number);
        }
        let is_full = i64::try_from(postings.len()).is_ok_and(|len| len >= MAX_NEW_POSTINGS);
        Ok(SliceResult {
            faults: self.add_postings(tx, &postings, kept).await?,
            is_complete: !is_full,
        })
    }

    async fn add_postings(
        &self,
        tx: &mut Transaction,
        postings: &PostingSlice,
        kept: KeptDays,
    ) -> Result<Vec<LedgerFault>, Error> {
        if postings.len() == 0 {
            return Ok(Vec::new());
        }
        sqlx::query!(
            "insert into shard.ledger_settled (pass, organization, number, settled)
             select $1, added.organization, added.number, added.settled
                 -- Postings that left before they were read are in the opening balance.
                 + case when o.number > coalesce(s.number, 0) then o.settled
                     else coalesce(s.settled, 0) end
             from (
                 select p.organization, max(p.number) as number,
                     coalesce(-sum(p.credit) filter (where p.kind = 'settlement'), 0) as settled
                 from unnest($2::uuid[], $3::bigint[]) as chosen (organization, number)
                 join shard.posting p
                     on p.organization = chosen.organization and p.number = chosen.number
                 group by p.organization
             ) added
             left join shard.opening o on o.organization = added.organization
             left join shard.ledger_settled s
                 on s.pass = $1 and s.organization = added.organization
             on conflict (pass, organization) do update
                 set number = excluded.number, settled = excluded.settled",
            self.number,
            &postings.organization,
            &postings.number
        )
        .execute(&mut **tx)
        .await?;
        posting_slice::find_faults(tx, postings, kept).await
    }

    async fn store_position(&self, tx: &mut Transaction) -> Result<(), Error> {
        sqlx::query!(
            "update shard.ledger_pass
             set position = $2, posting_organization = $3, posting_number = $4 where number = $1",
            self.number,
            self.position,
            self.posting.map(|(organization, _)| organization),
            self.posting.map_or(0, |(_, number)| number)
        )
        .execute(&mut **tx)
        .await?;
        Ok(())
    }

    /// From now on, accounts are compared with its sums.
    pub(super) async fn finish(&self, tx: &mut Transaction, now: Timestamp) -> Result<(), Error> {
        sqlx::query!(
            "update shard.ledger_pass set finished_at = $2 where number = $1",
            self.number,
            now
        )
        .execute(&mut **tx)
        .await?;
        delete_below(tx, self.number).await
    }

    pub(super) async fn record_proof(
        &self,
        tx: &mut Transaction,
        now: Timestamp,
    ) -> Result<(), Error> {
        sqlx::query!(
            "update shard.ledger_pass set proven_at = $2 where number = $1",
            self.number,
            now
        )
        .execute(&mut **tx)
        .await?;
        Ok(())
    }
}

/// Deletes the passes before this number, with their sums.
pub(super) async fn delete_below(tx: &mut Transaction, number: i64) -> Result<(), Error> {
    delete_between(tx, 0, number - 1).await
}

pub(super) async fn delete_one(tx: &mut Transaction, number: i64) -> Result<(), Error> {
    delete_between(tx, number, number).await
}

async fn delete_between(tx: &mut Transaction, first: i64, last: i64) -> Result<(), Error> {
    sqlx::query!(
        "with passes as (
             delete from shard.ledger_pass where number between $1 and $2
         ), summed as (
             delete from shard.ledger_sum where pass between $1 and $2
         ), settled as (
             delete from shard.ledger_settled where pass between $1 and $2
         )
         delete from shard.ledger_gap where pass between $1 and $2",
        first,
        last
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
