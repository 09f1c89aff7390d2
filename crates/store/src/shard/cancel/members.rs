//! Cancelling many cargo: the members of a group, and what came back after a request.

use std::collections::BTreeMap;

use domain::id::{CargoId, GroupId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use super::rows::{CancelActor, CancelCounts, OpenMember, cancel_in_batch, cancel_waiting};
use crate::Error;
use crate::Shard;
use crate::shard::node::{self, Claim};
use crate::shard::waiting::id_bounds;

/// A transaction of more cargo would keep its accounts and groups locked for too long.
const MAX_CARGO_PER_TRANSACTION: usize = 500;

/// What one call did to the members of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupCancelStep {
    pub counts: CancelCounts,
    /// Members that other transactions were moving. They are not cancelled yet.
    pub skipped: u64,
    /// The last position that was read. None: the group has no more members.
    pub last_position: Option<i64>,
}

/// The groups that are to be cancelled and are not completed, without those in `finished`, the
/// oldest request first. Only the first of the live workers gets them: one node cancels for all.
pub async fn list_cancelling(
    shard: &Shard,
    claim: Claim,
    finished: &[GroupId],
    most: i64,
) -> Result<Vec<GroupId>, Error> {
    let finished: Vec<Uuid> = finished.iter().map(|id| id.uuid()).collect();
    let mut tx = shard.begin().await?;
    let groups = sqlx::query_scalar!(
        "select id from shard.cargo_group
         where cancel_requested_at is not null and completed_at is null and id <> all($1)
         order by cancel_requested_at limit $2",
        &finished,
        most
    )
    .fetch_all(&mut *tx)
    .await?;
    let is_ours = !groups.is_empty() && node::is_first_worker(&mut tx, claim).await?;
    tx.rollback().await?;
    let groups = groups.into_iter().filter(|_| is_ours);
    Ok(groups.map(Into::into).collect())
}

/// Cancels the open members of a group with positions after `after`, as far as `limit` members go.
/// Members of which this was requested before are left as they are, unless they are back in the
/// queue.
pub async fn cancel_members(
    shard: &Shard,
    group: GroupId,
    after: i64,
    limit: i64,
    now: Timestamp,
) -> Result<GroupCancelStep, Error> {
    let rows = sqlx::query!(
        r#"select m.position, c.id, c.project, c.organization, c.lane, c.attempt, c.batch,
               c.completed_at is null
                   and (c.cancel_requested_at is null or c.batch is null) as "is_open!"
           from shard.group_member m join shard.cargo c on c.id = m.cargo
           where m.group_id = $1 and m.position > $2 order by m.position limit $3"#,
        group.uuid(),
        after,
        limit
    )
    .fetch_all(&shard.pool)
    .await?;
    let last_position = rows.last().map(|row| row.position);
    let open = rows.into_iter().filter(|row| row.is_open);
    let members = open.map(|row| OpenMember {
        cargo: row.id.into(),
        project: row.project.into(),
        organization: row.organization,
        lane: row.lane,
        attempt: u32::try_from(row.attempt).unwrap_or(1),
        batch: row.batch,
    });
    let members: Vec<OpenMember> = members.collect();
    let open = members.len() as u64;
    let counts = cancel_all(shard, members, now).await?;
    Ok(GroupCancelStep {
        counts,
        skipped: open.saturating_sub(counts.cancelled + counts.too_late),
        last_position,
    })
}

/// Cancels those of these cargo that came back without an answer after a request to cancel them,
/// and returns how much that was.
pub async fn cancel_returned(
    shard: &Shard,
    cargo: &[CargoId],
    now: Timestamp,
) -> Result<u64, Error> {
    let ids: Vec<Uuid> = cargo.iter().map(|id| id.uuid()).collect();
    let (first, last) = id_bounds(&ids);
    let rows = sqlx::query!(
        "select id, project, organization, lane, attempt, batch from shard.cargo
         where id = any($1) and id >= $2 and id <= $3
             and completed_at is null and cancel_requested_at is not null",
        &ids,
        first,
        last
    )
    .fetch_all(&shard.pool)
    .await?;
    let members = rows.into_iter().map(|row| OpenMember {
        cargo: row.id.into(),
        project: row.project.into(),
        organization: row.organization,
        lane: row.lane,
        attempt: u32::try_from(row.attempt).unwrap_or(1),
        batch: row.batch,
    });
    let members: Vec<OpenMember> = members.collect();
    let mut cancelled = 0;
    for members in members.chunks(MAX_CARGO_PER_TRANSACTION) {
        let counts = cancel_all(shard, members.to_vec(), now).await?;
        cancelled += counts.cancelled;
    }
    Ok(cancelled)
}

/// One transaction for the queue, and one for each batch: a transaction locks no cargo after it has
/// locked an account.
async fn cancel_all(
    shard: &Shard,
    members: Vec<OpenMember>,
    now: Timestamp,
) -> Result<CancelCounts, Error> {
    let mut places: BTreeMap<Option<Uuid>, Vec<OpenMember>> = BTreeMap::new();
    for member in members {
        places.entry(member.batch).or_default().push(member);
    }
    let actor = CancelActor::Worker;
    let mut sum = CancelCounts::default();
    for (batch, members) in places {
        let Some(batch) = batch else {
            sum.cancelled += cancel_waiting(shard, actor, &members, now).await?;
            continue;
        };
        if let Some(ended) = cancel_in_batch(shard, actor, batch, &members, now).await? {
            sum.cancelled += ended.counts.cancelled;
            sum.too_late += ended.counts.too_late;
        }
    }
    Ok(sum)
}
