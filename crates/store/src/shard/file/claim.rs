//! The fair queue of files to scan: claims, and when to try again.

use domain::id::FileId;
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::shard::file::row::{ClaimedFile, files};
use crate::shard::node::Claim;

/// Small files never wait for large ones: each class has separate slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileSizeClass {
    /// Up to 50 MB: every image and every document.
    Small,
    Large,
}

/// One index lookup per organization, which reads no more files than can be claimed. The
/// organization with the fewest claimed files comes first, and among equals the longest wait.
macro_rules! fair_claim {
    ($size:literal, $claim:expr, $most:expr, $now:expr) => {
        files!(
            "hop as (
                 (select organization from shard.file
                  where status = 'validating' and node is null and "
                + $size
                + " order by organization limit 1)
                 union all
                 select next.organization from hop cross join lateral (
                     select organization from shard.file
                     where status = 'validating' and node is null and "
                + $size
                + " and organization > hop.organization order by organization limit 1
                 ) next
             ), busy as (
                 select organization, count(*) from shard.file
                 where node is not null and "
                + $size
                + " group by organization
             ), due as (
                 select waits.id, waits.due_at, coalesce(busy.count, 0)
                     + row_number() over (partition by hop.organization order by waits.due_at, waits.id)
                     as turn
                 from hop left join busy on busy.organization = hop.organization
                 cross join lateral (
                     select id, due_at from shard.file
                     where status = 'validating' and node is null and "
                + $size
                + " and organization = hop.organization and due_at <= $4
                     order by due_at limit $3
                 ) waits
             ), me as materialized (
                 select 1 from shard.node
                 where node = $1 and epoch = $2 and dead_at is null
                     and seen_until > clock_timestamp()
                 for key share
             ), picked as (
                 select id from shard.file
                 where id in (select id from due order by turn, due_at, id limit $3)
                     and status = 'validating' and node is null and exists (select from me)
                 for update skip locked
             ), f as (
                 update shard.file set node = $1, epoch = $2 from picked
                 where file.id = picked.id returning file.*
             )",
            $claim.node,
            $claim.epoch,
            $most,
            $now
        )
    };
}

/// Claims at most `most` files that are due.
pub async fn claim(
    shard: &Shard,
    claim: Claim,
    class: FileSizeClass,
    most: i64,
    now: Timestamp,
) -> Result<Vec<ClaimedFile>, Error> {
    let rows = match class {
        FileSizeClass::Small => {
            let taken = fair_claim!("size_bytes <= 52428800", claim, most, now);
            taken.fetch_all(&shard.pool).await?
        }
        FileSizeClass::Large => {
            let taken = fair_claim!("size_bytes > 52428800", claim, most, now);
            taken.fetch_all(&shard.pool).await?
        }
    };
    rows.into_iter().map(ClaimedFile::try_from).collect()
}

/// Releases a file, to be scanned again at `due_at`. An attempt is counted if the scanner was
/// reachable and gave no verdict. False when the claim was lost.
pub async fn reschedule(
    shard: &Shard,
    file: FileId,
    claim: Claim,
    due_at: Timestamp,
    counted: bool,
) -> Result<bool, Error> {
    let changed = sqlx::query!(
        "update shard.file set due_at = $4, tries = tries + $5, node = null, epoch = null
         where id = $1 and node = $2 and epoch = $3",
        file.uuid(),
        claim.node,
        claim.epoch,
        due_at,
        i32::from(counted)
    )
    .execute(&shard.pool)
    .await?;
    Ok(changed.rows_affected() == 1)
}

/// Frees files that this claim holds, except `known`: the answer to a claim can be lost.
pub async fn free_unknown_claims(
    shard: &Shard,
    claim: Claim,
    known: &[FileId],
) -> Result<u64, Error> {
    let known: Vec<_> = known.iter().map(|id| id.uuid()).collect();
    let freed = sqlx::query!(
        "update shard.file set node = null, epoch = null
         where node = $1 and epoch = $2 and id <> all($3)",
        claim.node,
        claim.epoch,
        &known
    )
    .execute(&shard.pool)
    .await?;
    Ok(freed.rows_affected())
}

/// How many files wait for their verdict, claimed or not, and since when the first one waits.
pub async fn count_validating(shard: &Shard) -> Result<(u64, Option<Timestamp>), Error> {
    let row = sqlx::query!(
        r#"select count(*) as "count!", min(completed_at) as since from (
               select completed_at from shard.file where status = 'validating' and node is null
               union all
               select completed_at from shard.file where node is not null
           ) waits"#
    )
    .fetch_one(&shard.pool)
    .await?;
    Ok((u64::try_from(row.count).unwrap_or_default(), row.since))
}
