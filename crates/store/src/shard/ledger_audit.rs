//! The ledger audit: checks every invariant of the ledger and reports each row that breaks one.
//!
//! [`check_all`] checks everything in one snapshot, and changes nothing. [`prove_changes`] is cheap
//! enough for every minute: its cost grows with what changed since the proof before.
//! [`continue_pass`] reads all kept rows a little at a time, so that each is proven again.

mod accounts;
mod cargo_slice;
mod fault;
mod holds;
mod kept_days;
mod key_spending;
mod known_faults;
mod outcomes;
mod pass;
mod posting_slice;
mod postings;
mod proof;
mod settlements;
mod snapshot;
mod sums;

use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::shard::ledger_audit::cargo_slice::CargoSlice;
pub use crate::shard::ledger_audit::fault::{LedgerFault, LedgerInvariant};
pub use crate::shard::ledger_audit::proof::{
    LedgerProof, LedgerProofState, PASS_INTERVAL, PassStep, ProofStep, continue_pass,
    prove_changes, read_proof_state,
};
pub(crate) use crate::shard::ledger_audit::snapshot::prepare_full_check;

/// The result of a full check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerAuditReport {
    pub counts: LedgerAuditCounts,
    /// At most a hundred per check.
    pub faults: Vec<LedgerFault>,
}

/// How many rows were checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LedgerAuditCounts {
    pub accounts: u64,
    pub postings: u64,
    /// Open cargo with a hold.
    pub open_holds: u64,
    /// Settled or released, in the days that are not dropped yet.
    pub outcomes: u64,
}

/// Checks every invariant over all rows, in one snapshot.
pub async fn check_all(shard: &Shard) -> Result<LedgerAuditReport, Error> {
    let mut tx = shard.background.begin().await?;
    prepare_full_check(&mut tx).await?;
    let kept = kept_days::read(&mut tx).await?.first_id;
    let always = Timestamp::UNIX_EPOCH;
    let mut faults = postings::find_unbalanced(&mut tx, always).await?;
    faults.extend(postings::find_broken_chains(&mut tx, always).await?);
    faults.extend(accounts::find_balance_mismatches(&mut tx).await?);
    faults.extend(accounts::find_sum_mismatches(&mut tx).await?);
    faults.extend(holds::check_all(&mut tx).await?);
    faults.extend(accounts::find_token_mismatches(&mut tx).await?);
    faults.extend(outcomes::find_mismatches(&mut tx, &CargoSlice::from_id(kept)).await?);
    faults.extend(settlements::find_amount_mismatches(&mut tx, always, kept).await?);
    faults.extend(settlements::find_misplaced_cargo(&mut tx, always, kept).await?);
    faults.extend(settlements::find_miscounted_cargo(&mut tx, kept).await?);
    faults.extend(settlements::find_total_mismatches(&mut tx).await?);
    faults.extend(key_spending::find_held_mismatches(&mut tx).await?);
    faults.extend(key_spending::find_spent_mismatches(&mut tx).await?);
    let examined = count_examined(&mut tx).await?;
    tx.rollback().await?;
    Ok(LedgerAuditReport {
        counts: examined,
        faults,
    })
}

async fn count_examined(tx: &mut Transaction) -> Result<LedgerAuditCounts, Error> {
    let row = sqlx::query!(
        r#"select (select count(*) from shard.account) as "accounts!",
               (select count(*) from shard.posting) as "postings!",
               (select count(*) from shard.cargo where completed_at is null and held is not null)
                   as "open_holds!",
               (select count(*) from shard.outcome where charged is not null) as "outcomes!""#
    )
    .fetch_one(&mut **tx)
    .await?;
    let count = |count: i64| u64::try_from(count).unwrap_or_default();
    Ok(LedgerAuditCounts {
        accounts: count(row.accounts),
        postings: count(row.postings),
        open_holds: count(row.open_holds),
        outcomes: count(row.outcomes),
    })
}
