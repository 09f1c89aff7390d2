//! The ledger audit: checks every invariant of the ledger and reports each row that breaks one.
//!
//! Nothing is changed. [`check_all`] checks everything; [`check_recent`] is cheap enough for every minute:
//! its cost grows with open and new rows, not with history.

mod accounts;
mod fault;
mod holds;
mod key_spending;
mod outcomes;
mod postings;
mod settlements;

use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
pub use crate::shard::ledger_audit::fault::{LedgerFault, LedgerInvariant};
use crate::shard::node::{self, Claim};

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
    let kept = find_first_kept_id(&mut tx).await?;
    let always = Timestamp::UNIX_EPOCH;
    let mut faults = postings::find_unbalanced(&mut tx, always).await?;
    faults.extend(postings::find_broken_chains(&mut tx, always).await?);
    faults.extend(accounts::find_balance_mismatches(&mut tx).await?);
    faults.extend(accounts::find_sum_mismatches(&mut tx).await?);
    faults.extend(holds::check_all(&mut tx).await?);
    faults.extend(accounts::find_token_mismatches(&mut tx).await?);
    faults.extend(outcomes::find_mismatches(&mut tx, kept).await?);
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

/// Checks what can have changed since `since`: newer postings, every account, all open cargo.
pub async fn check_recent(shard: &Shard, since: Timestamp) -> Result<Vec<LedgerFault>, Error> {
    let mut tx = shard.background.begin().await?;
    prepare_recent_check(&mut tx).await?;
    let faults = find_recent_faults(&mut tx, since).await?;
    tx.rollback().await?;
    Ok(faults)
}

/// The same on one live node only; None on the others.
pub async fn check_recent_on_one_node(
    shard: &Shard,
    claim: Claim,
    since: Timestamp,
) -> Result<Option<Vec<LedgerFault>>, Error> {
    let mut tx = shard.background.begin().await?;
    prepare_recent_check(&mut tx).await?;
    // When nodes join or leave, the former first node may still be checking.
    let free = sqlx::query_scalar!(
        r#"select pg_try_advisory_xact_lock(hashtext('longshore.audit')) as "free!""#
    );
    let ours = node::is_first_worker(&mut tx, claim).await? && free.fetch_one(&mut *tx).await?;
    if !ours {
        tx.rollback().await?;
        return Ok(None);
    }
    let faults = find_recent_faults(&mut tx, since).await?;
    tx.rollback().await?;
    Ok(Some(faults))
}

async fn find_recent_faults(
    tx: &mut Transaction,
    since: Timestamp,
) -> Result<Vec<LedgerFault>, Error> {
    let kept = find_first_kept_id(tx).await?;
    let mut faults = postings::find_unbalanced(tx, since).await?;
    faults.extend(postings::find_broken_chains(tx, since).await?);
    faults.extend(accounts::find_balance_mismatches(tx).await?);
    faults.extend(settlements::find_amount_mismatches(tx, since, kept).await?);
    faults.extend(settlements::find_misplaced_cargo(tx, since, kept).await?);
    faults.extend(holds::check_open(tx).await?);
    Ok(faults)
}

/// One snapshot for all checks. The tables are locked against the dropping of a day before the
/// snapshot is taken, so the catalogue matches the snapshot.
pub(crate) async fn prepare_full_check(tx: &mut Transaction) -> Result<(), Error> {
    begin_snapshot(tx).await?;
    sqlx::query!("set local statement_timeout = 0")
        .execute(&mut **tx)
        .await?;
    // Joins day by day, so that only one day's rows are in memory at a time.
    sqlx::query!("set local enable_partitionwise_join = on")
        .execute(&mut **tx)
        .await?;
    // All rows are read, so nested loops would be slow.
    sqlx::query!("set local enable_nestloop = off")
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// It runs beside live traffic, so it stops early rather than slow that down.
async fn prepare_recent_check(tx: &mut Transaction) -> Result<(), Error> {
    begin_snapshot(tx).await?;
    sqlx::query!("set local statement_timeout = '30s'")
        .execute(&mut **tx)
        .await?;
    Ok(())
}

async fn begin_snapshot(tx: &mut Transaction) -> Result<(), Error> {
    sqlx::query!("set transaction isolation level repeatable read, read only")
        .execute(&mut **tx)
        .await?;
    sqlx::query!("set local lock_timeout = '10s'")
        .execute(&mut **tx)
        .await?;
    sqlx::query!("lock table shard.outcome, shard.cargo in access share mode")
        .execute(&mut **tx)
        .await?;
    // With a table per day, compiling costs more than it gains.
    sqlx::query!("set local jit = off")
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// The smallest id whose outcome may still exist: older days were dropped.
async fn find_first_kept_id(tx: &mut Transaction) -> Result<Uuid, Error> {
    let first = sqlx::query_scalar!(
        r#"select coalesce(
               (select shard.id_floor(to_date(min(right(c.relname, 8)), 'YYYYMMDD')::timestamp at time zone 'UTC')
                from pg_inherits i join pg_class c on c.oid = i.inhrelid
                where i.inhparent = 'shard.outcome'::regclass and not i.inhdetachpending),
               'ffffffff-ffff-ffff-ffff-ffffffffffff') as "first!""#
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(first)
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
