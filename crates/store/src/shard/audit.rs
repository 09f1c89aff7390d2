//! The proof of the ledger: what must be so is asked for row by row, and what is not is named.
//!
//! Nothing is changed. [`whole`] asks everything of everyone; [`recent`] is cheap enough for
//! every minute: it grows with what is open and new, not with history.

mod accounts;
mod fault;
mod holds;
mod outcomes;
mod postings;
mod settlements;

use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
pub use crate::shard::audit::fault::{Fault, Identity};
use crate::shard::node::{self, Claim};

/// What came of looking at everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub examined: Examined,
    /// Of each kind at most a hundred.
    pub faults: Vec<Fault>,
}

/// How much was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Examined {
    pub accounts: u64,
    pub postings: u64,
    /// Cargo under way that holds something.
    pub open_holds: u64,
    /// Settled or released, in the days that are still kept.
    pub outcomes: u64,
}

/// Proves every identity over all rows, as they were at one moment.
pub async fn whole(shard: &Shard) -> Result<Report, Error> {
    let mut tx = shard.background.begin().await?;
    prepare_for_all(&mut tx).await?;
    let kept = first_kept(&mut tx).await?;
    let always = Timestamp::UNIX_EPOCH;
    let mut faults = postings::unbalanced(&mut tx, always).await?;
    faults.extend(postings::unchained(&mut tx, always).await?);
    faults.extend(accounts::astray(&mut tx).await?);
    faults.extend(accounts::uneven(&mut tx).await?);
    faults.extend(holds::of_all(&mut tx).await?);
    faults.extend(accounts::miscounted(&mut tx).await?);
    faults.extend(outcomes::wrong(&mut tx, kept).await?);
    faults.extend(settlements::unequal(&mut tx, always, kept).await?);
    faults.extend(settlements::misplaced(&mut tx, always, kept).await?);
    faults.extend(settlements::uncounted(&mut tx, kept).await?);
    faults.extend(settlements::unsettled(&mut tx).await?);
    let examined = examined(&mut tx).await?;
    tx.rollback().await?;
    Ok(Report { examined, faults })
}

/// Proves what can have changed since then: postings of after it, every account, everything open.
pub async fn recent(shard: &Shard, since: Timestamp) -> Result<Vec<Fault>, Error> {
    let mut tx = shard.background.begin().await?;
    prepare_for_recent(&mut tx).await?;
    let faults = look(&mut tx, since).await?;
    tx.rollback().await?;
    Ok(faults)
}

/// The same, for the one node of all that live whose turn it is; nothing for the others.
pub async fn recent_in_turn(
    shard: &Shard,
    claim: Claim,
    since: Timestamp,
) -> Result<Option<Vec<Fault>>, Error> {
    let mut tx = shard.background.begin().await?;
    prepare_for_recent(&mut tx).await?;
    // Nodes come and go: one may still be at it.
    let free = sqlx::query_scalar!(
        r#"select pg_try_advisory_xact_lock(hashtext('longshore.audit')) as "free!""#
    );
    let ours = node::is_first(&mut tx, claim).await? && free.fetch_one(&mut *tx).await?;
    if !ours {
        tx.rollback().await?;
        return Ok(None);
    }
    let faults = look(&mut tx, since).await?;
    tx.rollback().await?;
    Ok(Some(faults))
}

async fn look(tx: &mut Transaction, since: Timestamp) -> Result<Vec<Fault>, Error> {
    let kept = first_kept(tx).await?;
    let mut faults = postings::unbalanced(tx, since).await?;
    faults.extend(postings::unchained(tx, since).await?);
    faults.extend(accounts::astray(tx).await?);
    faults.extend(settlements::unequal(tx, since, kept).await?);
    faults.extend(settlements::misplaced(tx, since, kept).await?);
    faults.extend(holds::of_queues(tx).await?);
    Ok(faults)
}

/// One moment for all questions. The tables are locked against the dropping of a day before
/// that moment is: what is seen in the catalogue is then what is there.
pub(crate) async fn prepare_for_all(tx: &mut Transaction) -> Result<(), Error> {
    still(tx).await?;
    sqlx::query!("set local statement_timeout = 0")
        .execute(&mut **tx)
        .await?;
    // Day by day: only one day's rows are in memory at a time.
    sqlx::query!("set local enable_partitionwise_join = on")
        .execute(&mut **tx)
        .await?;
    // All rows are looked at: never one by one.
    sqlx::query!("set local enable_nestloop = off")
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// It runs beside live traffic: rather unfinished than in the way.
async fn prepare_for_recent(tx: &mut Transaction) -> Result<(), Error> {
    still(tx).await?;
    sqlx::query!("set local statement_timeout = '30s'")
        .execute(&mut **tx)
        .await?;
    Ok(())
}

async fn still(tx: &mut Transaction) -> Result<(), Error> {
    sqlx::query!("set transaction isolation level repeatable read, read only")
        .execute(&mut **tx)
        .await?;
    sqlx::query!("set local lock_timeout = '10s'")
        .execute(&mut **tx)
        .await?;
    sqlx::query!("lock table shard.outcome, shard.cargo in access share mode")
        .execute(&mut **tx)
        .await?;
    // Compiling costs more than it gains where each day is a table.
    sqlx::query!("set local jit = off")
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// The smallest id whose outcome is still kept: older days were dropped.
async fn first_kept(tx: &mut Transaction) -> Result<Uuid, Error> {
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

async fn examined(tx: &mut Transaction) -> Result<Examined, Error> {
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
    Ok(Examined {
        accounts: count(row.accounts),
        postings: count(row.postings),
        open_holds: count(row.open_holds),
        outcomes: count(row.outcomes),
    })
}
