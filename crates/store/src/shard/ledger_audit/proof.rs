//! The incremental audit. Each minute it proves what changed since the proof before, and in between
//! it reads all kept rows, a little at a time.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use domain::id;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::WorkloadClass;
use crate::shard::ledger_audit::cargo_slice::CargoSlice;
use crate::shard::ledger_audit::fault::{LedgerFault, LedgerInvariant};
use crate::shard::ledger_audit::kept_days::{self, KeptDays};
use crate::shard::ledger_audit::pass::{self, LedgerPass};
use crate::shard::ledger_audit::{accounts, holds, known_faults, snapshot, sums};
use crate::shard::node::{self, Claim};

/// The transaction of a load may end this long after the time in its ids.
const LOAD_COMMIT_MARGIN: TimeDelta = TimeDelta::seconds(30);
/// How many groups of outcomes one transaction takes; each has up to a thousand cargo.
const MAX_COMPLETED_GROUPS: i64 = 100;
/// How long after a pass the next one starts.
pub const PASS_INTERVAL: TimeDelta = TimeDelta::hours(1);

/// What one transaction of a proof did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProofStep {
    /// More has changed than one transaction reads: call again.
    Behind,
    Done(LedgerProof),
}

/// A proof of everything that has changed since the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerProof {
    pub faults: Vec<LedgerFault>,
    /// When the pass began whose sums accounts were compared with: every kept row was read since
    /// then. None: no pass has finished, and the sums of accounts were not compared.
    pub read_since: Option<Timestamp>,
}

/// What one transaction of a pass did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassStep {
    /// It read some rows.
    Read,
    /// It has read all rows: the next proof compares accounts with its sums.
    Finished,
    /// The next pass starts then.
    NotDue(Timestamp),
}

/// The age of the proofs of a shard.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LedgerProofState {
    /// When everything that had changed was last proven.
    pub proven_at: Option<Timestamp>,
    /// Every kept row was read since then.
    pub read_since: Option<Timestamp>,
    /// The faults of the last proof, and those of rows that were read since.
    pub faults: Vec<LedgerFault>,
}

/// Proves what changed since the last proof. None: another node audits. Without a claim, this call
/// always proves.
pub async fn prove_changes(
    shard: &Shard,
    claim: Option<Claim>,
    now: Timestamp,
) -> Result<Option<ProofStep>, Error> {
    let Some(mut tx) = begin(shard, claim).await? else {
        return Ok(None);
    };
    let kept = kept_days::read(&mut tx).await?;
    let is_behind = !take_completed(&mut tx, kept).await?;
    let passes = pass::list(&mut tx).await?;
    let mut current = passes.into_iter().find(|pass| pass.finished_at.is_some());
    if let Some(lost) = current.take_if(|pass| pass.has_lost_days(kept)) {
        pass::delete_one(&mut tx, lost.number).await?;
    }
    let step = match current {
        _ if is_behind => ProofStep::Behind,
        Some(current) => prove_accounts(&mut tx, current, kept, now).await?,
        None => {
            let balances = accounts::find_balance_mismatches(&mut tx).await?;
            ProofStep::Done(LedgerProof {
                faults: known_faults::renew(&mut tx, kept, balances).await?,
                read_since: None,
            })
        }
    };
    tx.commit().await?;
    Ok(Some(step))
}

/// Reads the next rows of the pass, or starts one when it is due.
pub async fn continue_pass(
    shard: &Shard,
    claim: Option<Claim>,
    now: Timestamp,
) -> Result<Option<PassStep>, Error> {
    let Some(mut tx) = begin(shard, claim).await? else {
        return Ok(None);
    };
    let kept = kept_days::read(&mut tx).await?;
    // A pass may only read rows of which all completions were taken.
    let step = if take_completed(&mut tx, kept).await? {
        read_next(&mut tx, kept, now).await?
    } else {
        PassStep::Read
    };
    tx.commit().await?;
    Ok(Some(step))
}

/// How old the proofs are, read without a turn.
pub async fn read_proof_state(shard: &Shard) -> Result<LedgerProofState, Error> {
    let mut tx = shard.background.begin().await?;
    let passes = pass::list(&mut tx).await?;
    let current = passes.into_iter().find(|pass| pass.finished_at.is_some());
    let state = LedgerProofState {
        proven_at: current.as_ref().and_then(|pass| pass.proven_at),
        read_since: current.map(|pass| pass.started_at),
        faults: known_faults::list(&mut tx).await?,
    };
    tx.rollback().await?;
    Ok(state)
}

/// A transaction with one snapshot. It locks no row that others write.
async fn begin(shard: &Shard, claim: Option<Claim>) -> Result<Option<Transaction>, Error> {
    let patient = shard.background.with_class(WorkloadClass::Operator);
    let mut tx = patient.begin().await?;
    snapshot::begin(&mut tx, false).await?;
    snapshot::set(&mut tx, "statement_timeout", "30s").await?;
    // Every check reads a small part of its tables by their keys.
    snapshot::set(&mut tx, "enable_seqscan", "off").await?;
    snapshot::set(&mut tx, "plan_cache_mode", "force_custom_plan").await?;
    // When nodes join or leave, the former first node may still be at work.
    let free = sqlx::query_scalar!(
        r#"select pg_try_advisory_xact_lock(hashtext('longshore.audit')) as "free!""#
    );
    let is_first = match claim {
        Some(claim) => node::is_first_worker(&mut tx, claim).await?,
        None => true,
    };
    if is_first && free.fetch_one(&mut *tx).await? {
        return Ok(Some(tx));
    }
    tx.rollback().await?;
    Ok(None)
}

/// Takes the rows that groups of outcomes left, and checks their cargo. False: more are left.
async fn take_completed(tx: &mut Transaction, kept: KeptDays) -> Result<bool, Error> {
    let groups = sqlx::query_scalar!(
        "delete from shard.unaudited
         where id in (select id from shard.unaudited order by id limit $1)
         returning cargo",
        MAX_COMPLETED_GROUPS
    )
    .fetch_all(&mut **tx)
    .await?;
    let is_complete = i64::try_from(groups.len()).is_ok_and(|len| len < MAX_COMPLETED_GROUPS);
    // Rows of older cargo may be gone. Then the holds stay in the sums, which shows that cargo ended
    // without a row in shard.unaudited.
    let ended = groups.into_iter().flatten();
    let ended: Vec<Uuid> = ended.filter(|id| *id >= kept.first_id).collect();
    if !ended.is_empty() {
        let ended = CargoSlice::of(ended);
        sums::move_ended(tx, &ended).await?;
        let faults = known_faults::find_cargo_faults(tx, &ended).await?;
        known_faults::store(tx, faults).await?;
    }
    Ok(is_complete)
}

async fn prove_accounts(
    tx: &mut Transaction,
    mut current: LedgerPass,
    kept: KeptDays,
    now: Timestamp,
) -> Result<ProofStep, Error> {
    let cargo = current.read_cargo(tx, horizon(now)).await?;
    known_faults::store(tx, cargo.faults).await?;
    let postings = current.read_new_postings(tx, kept).await?;
    known_faults::store(tx, postings.faults).await?;
    if !cargo.is_complete || !postings.is_complete {
        return Ok(ProofStep::Behind);
    }
    let mut faults = accounts::find_balance_mismatches(tx).await?;
    faults.extend(accounts::find_missing(tx, current.number).await?);
    faults.extend(find_sum_faults(tx, &current).await?);
    current.record_proof(tx, now).await?;
    Ok(ProofStep::Done(LedgerProof {
        faults: known_faults::renew(tx, kept, faults).await?,
        read_since: Some(current.started_at),
    }))
}

/// A group of outcomes of the version before leaves no row, and then the sums of open cargo are too
/// high. So a difference in them is no fault yet: all open cargo of its organization is read again,
/// in the same snapshot.
async fn find_sum_faults(
    tx: &mut Transaction,
    current: &LedgerPass,
) -> Result<Vec<LedgerFault>, Error> {
    let faults = compare(tx, current).await?;
    let suspected: BTreeSet<Uuid> = faults
        .iter()
        .filter(|fault| is_of_open_cargo(fault.invariant))
        .filter_map(|fault| Some(fault.organization?.uuid()))
        .collect();
    if suspected.is_empty() {
        return Ok(faults);
    }
    let suspected: Vec<Uuid> = suspected.into_iter().collect();
    snapshot::set(tx, "statement_timeout", "5min").await?;
    snapshot::set(tx, "enable_seqscan", "on").await?;
    let first_open = holds::find_first_open_id(tx).await?;
    let unseen = sums::read_open_again(tx, current.number, &suspected, first_open).await?;
    if unseen.is_empty() {
        return Ok(faults);
    }
    sums::record_gaps(tx, &unseen).await?;
    compare(tx, current).await
}

async fn compare(tx: &mut Transaction, pass: &LedgerPass) -> Result<Vec<LedgerFault>, Error> {
    sums::find_mismatches(tx, pass.number, pass.position, pass.first_day).await
}

const fn is_of_open_cargo(invariant: LedgerInvariant) -> bool {
    matches!(
        invariant,
        LedgerInvariant::Held | LedgerInvariant::Reserved | LedgerInvariant::KeyHeld
    )
}

async fn read_next(
    tx: &mut Transaction,
    kept: KeptDays,
    now: Timestamp,
) -> Result<PassStep, Error> {
    let newest = pass::list(tx).await?.into_iter().next();
    let mut pass = match newest {
        Some(pass) if pass.finished_at.is_none() && pass.has_lost_days(kept) => {
            pass::delete_one(tx, pass.number).await?;
            LedgerPass::begin(tx, pass.number + 1, kept, now).await?
        }
        Some(pass) => match pass.finished_at {
            None => pass,
            Some(finished) if now < finished + PASS_INTERVAL => {
                return Ok(PassStep::NotDue(finished + PASS_INTERVAL));
            }
            Some(_) => LedgerPass::begin(tx, pass.number + 1, kept, now).await?,
        },
        None => LedgerPass::begin(tx, 1, kept, now).await?,
    };
    let postings = pass.read_postings(tx, kept).await?;
    known_faults::store(tx, postings.faults).await?;
    if !postings.is_complete {
        return Ok(PassStep::Read);
    }
    let cargo = pass.read_cargo(tx, horizon(now)).await?;
    known_faults::store(tx, cargo.faults).await?;
    if !cargo.is_complete {
        return Ok(PassStep::Read);
    }
    pass.finish(tx, now).await?;
    Ok(PassStep::Finished)
}

/// All cargo up to this id is committed.
fn horizon(now: Timestamp) -> Uuid {
    id::first_id_at(now - LOAD_COMMIT_MARGIN)
}
