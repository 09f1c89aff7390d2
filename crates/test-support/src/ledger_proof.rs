//! The incremental audit of the ledger, as tests call it.

use domain::time::Timestamp;
use store::Shard;
use store::shard::ledger_audit::{self, LedgerFault, PassStep, ProofStep};

/// Proves what has changed, and returns the faults. The first time it also reads everything.
pub async fn audit(shard: &Shard, now: Timestamp) -> Result<Vec<LedgerFault>, store::Error> {
    loop {
        match ledger_audit::prove_changes(shard, None, now).await? {
            Some(ProofStep::Done(proof)) if proof.read_since.is_some() => return Ok(proof.faults),
            Some(ProofStep::Done(_)) => {
                finish_pass(shard, now).await?;
            }
            // Or another audit runs.
            Some(ProofStep::Behind) | None => tokio::task::yield_now().await,
        }
    }
}

/// Reads all rows that are left of the pass. False: no pass was due.
pub async fn finish_pass(shard: &Shard, now: Timestamp) -> Result<bool, store::Error> {
    loop {
        match ledger_audit::continue_pass(shard, None, now).await? {
            Some(PassStep::Finished) => return Ok(true),
            Some(PassStep::NotDue(_)) => return Ok(false),
            Some(PassStep::Read) | None => tokio::task::yield_now().await,
        }
    }
}
