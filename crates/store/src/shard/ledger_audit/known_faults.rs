//! The faults that the audit knows. It reads most rows once, so it stores what is wrong with them, and
//! each proof reads the same rows again: a fault stays until its rows are right.

use std::collections::BTreeSet;

use domain::id::Id;
use sqlx::types::Uuid;

use crate::Error;
use crate::Transaction;
use crate::shard::ledger_audit::cargo_slice::CargoSlice;
use crate::shard::ledger_audit::fault::{LedgerFault, Row, faults_from_rows};
use crate::shard::ledger_audit::kept_days::KeptDays;
use crate::shard::ledger_audit::outcomes;
use crate::shard::ledger_audit::posting_slice::{self, PostingSlice};
use crate::shard::ledger_audit::snapshot;

/// More are counted by the next pass.
const MAX_KNOWN_FAULTS: usize = 1000;

/// How many rows a check reads again at once: each has at most five faults, and a check returns at
/// most a hundred.
const MAX_ROWS_PER_CHECK: usize = 20;

/// Reads the rows of all stored faults again, and stores those that are still wrong after `faults`,
/// which accounts have now. Returns them all.
pub(super) async fn renew(
    tx: &mut Transaction,
    kept: KeptDays,
    mut faults: Vec<LedgerFault>,
) -> Result<Vec<LedgerFault>, Error> {
    let known =
        sqlx::query!("delete from shard.ledger_fault returning organization, posting, cargo")
            .fetch_all(&mut **tx)
            .await?;
    let cargo = known.iter().filter_map(|row| row.cargo);
    let cargo: BTreeSet<Uuid> = cargo.filter(|id| *id >= kept.first_id).collect();
    let cargo: Vec<Uuid> = cargo.into_iter().collect();
    for cargo in cargo.chunks(MAX_ROWS_PER_CHECK) {
        let cargo = CargoSlice::of(cargo.to_vec());
        faults.extend(find_cargo_faults(tx, &cargo).await?);
    }
    let postings: BTreeSet<(Uuid, i64)> = known
        .iter()
        .filter_map(|row| row.organization.zip(row.posting))
        .collect();
    let postings: Vec<(Uuid, i64)> = postings.into_iter().collect();
    for named in postings.chunks(MAX_ROWS_PER_CHECK) {
        let mut postings = PostingSlice::default();
        for (organization, number) in named {
            postings.push(*organization, *number);
        }
        faults.extend(posting_slice::find_faults(tx, &postings, kept).await?);
    }
    store(tx, faults).await
}

pub(super) async fn find_cargo_faults(
    tx: &mut Transaction,
    slice: &CargoSlice,
) -> Result<Vec<LedgerFault>, Error> {
    snapshot::allow_nested_loops(tx, false).await?;
    let mut faults = outcomes::find_mismatches(tx, slice).await?;
    faults.extend(outcomes::find_unposted(tx, slice).await?);
    snapshot::allow_nested_loops(tx, true).await?;
    Ok(faults)
}

/// Stores faults, each once, and returns them.
pub(super) async fn store(
    tx: &mut Transaction,
    faults: Vec<LedgerFault>,
) -> Result<Vec<LedgerFault>, Error> {
    let mut stored: Vec<LedgerFault> = Vec::new();
    for fault in faults {
        if stored.len() < MAX_KNOWN_FAULTS && !stored.contains(&fault) {
            insert(tx, &fault).await?;
            stored.push(fault);
        }
    }
    Ok(stored)
}

async fn insert(tx: &mut Transaction, fault: &LedgerFault) -> Result<(), Error> {
    sqlx::query!(
        "insert into shard.ledger_fault (invariant, organization, posting, cargo, expected, found)
         select $1, $2, $3, $4, $5, $6
         where not exists (
             select from shard.ledger_fault f
             where (f.invariant, f.organization, f.posting, f.cargo, f.expected, f.found)
                 is not distinct from ($1, $2, $3, $4, $5, $6))",
        fault.invariant.as_str(),
        fault.organization.map(Id::uuid),
        fault.posting,
        fault.cargo.map(Id::uuid),
        fault.expected,
        fault.found
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

pub(super) async fn list(tx: &mut Transaction) -> Result<Vec<LedgerFault>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"select invariant as "identity!", organization as "organization?", posting as "posting?",
               cargo as "cargo?", expected as "expected?", found as "found?"
           from shard.ledger_fault order by id"#
    )
    .fetch_all(&mut **tx)
    .await?;
    faults_from_rows(rows)
}
