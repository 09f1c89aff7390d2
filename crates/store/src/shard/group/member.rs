//! The members of groups, as loads add them. A load's transaction locks its groups after its
//! accounts and files.

use std::collections::{BTreeMap, HashMap};

use domain::id::{CargoId, GroupId, ProjectId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::number::{signed, unsigned};

/// A group that this transaction has locked for a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockedGroup {
    pub project: ProjectId,
    pub is_sealed: bool,
    pub total: u64,
    /// One more than the largest position.
    pub next_position: u64,
}

/// The place of a new cargo in its group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMember {
    pub group: GroupId,
    pub position: u64,
    /// Of the custom id, or of the position as text, or of the cargo if that text is taken; as it
    /// is stored.
    pub custom_id_digest: Vec<u8>,
    /// As it is stored.
    pub load_digest: Vec<u8>,
}

/// A cargo that has a custom id already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupMemberRecord {
    pub group: GroupId,
    pub custom_id_digest: Vec<u8>,
    pub load_digest: Vec<u8>,
    pub cargo: CargoId,
}

/// Locks these groups until the commit, in the order of ids. Groups of other projects are not found.
pub async fn lock(
    tx: &mut Transaction,
    groups: &[(GroupId, ProjectId)],
) -> Result<HashMap<GroupId, LockedGroup>, Error> {
    let (ids, projects): (Vec<Uuid>, Vec<Uuid>) = groups
        .iter()
        .map(|(group, project)| (group.uuid(), project.uuid()))
        .unzip();
    let rows = sqlx::query!(
        r#"select g.id, g.project, g.sealed_at is not null as "is_sealed!", g.total,
               g.next_position
           from shard.cargo_group g
           where g.id = any($1) and exists (
               select from unnest($1::uuid[], $2::uuid[]) as named (id, project)
               where named.id = g.id and named.project = g.project)
           order by g.id for no key update of g"#,
        &ids,
        &projects
    )
    .fetch_all(&mut **tx)
    .await?;
    let locked = rows.into_iter().map(|row| {
        let group = LockedGroup {
            project: row.project.into(),
            is_sealed: row.is_sealed,
            total: unsigned(row.total),
            next_position: unsigned(row.next_position),
        };
        (row.id.into(), group)
    });
    Ok(locked.collect())
}

/// The members with these digests of custom ids. Read under the groups' locks.
pub async fn find_by_digests(
    tx: &mut Transaction,
    groups: &[Uuid],
    digests: &[Vec<u8>],
) -> Result<Vec<GroupMemberRecord>, Error> {
    let rows = sqlx::query!(
        "select m.group_id, m.custom_id_digest, m.load_digest, m.cargo
         from unnest($1::uuid[], $2::bytea[]) as named (group_id, digest)
         join shard.group_member m
             on m.group_id = named.group_id and m.custom_id_digest = named.digest",
        groups,
        digests
    )
    .fetch_all(&mut **tx)
    .await?;
    let members = rows.into_iter().map(|row| GroupMemberRecord {
        group: row.group_id.into(),
        custom_id_digest: row.custom_id_digest,
        load_digest: row.load_digest,
        cargo: row.cargo.into(),
    });
    Ok(members.collect())
}

/// Which of these positions are taken. Read under the groups' locks.
pub async fn find_taken_positions(
    tx: &mut Transaction,
    groups: &[Uuid],
    positions: &[i64],
) -> Result<Vec<(GroupId, u64)>, Error> {
    let rows = sqlx::query!(
        "select m.group_id, m.position
         from unnest($1::uuid[], $2::bigint[]) as named (group_id, position)
         join shard.group_member m
             on m.group_id = named.group_id and m.position = named.position",
        groups,
        positions
    )
    .fetch_all(&mut **tx)
    .await?;
    let taken = rows.into_iter();
    let taken = taken.map(|row| (row.group_id.into(), unsigned(row.position)));
    Ok(taken.collect())
}

/// The member with one of these digests, without a lock.
pub async fn find_repeated(
    shard: &Shard,
    project: ProjectId,
    group: GroupId,
    digests: &[Vec<u8>],
) -> Result<Option<GroupMemberRecord>, Error> {
    let row = sqlx::query!(
        "select m.custom_id_digest, m.load_digest, m.cargo
         from shard.group_member m join shard.cargo_group g on g.id = m.group_id
         where m.group_id = $1 and g.project = $2 and m.custom_id_digest = any($3)
         limit 1",
        group.uuid(),
        project.uuid(),
        digests
    )
    .fetch_optional(&shard.pool)
    .await?;
    Ok(row.map(|row| GroupMemberRecord {
        group,
        custom_id_digest: row.custom_id_digest,
        load_digest: row.load_digest,
        cargo: row.cargo.into(),
    }))
}

/// What a transaction adds to one group.
#[derive(Debug, Clone, Copy, Default)]
struct GroupGrowth {
    total: i64,
    held: i64,
    next_position: i64,
}

/// New members by column.
#[derive(Debug, Default)]
pub(crate) struct MemberColumns {
    group: Vec<Uuid>,
    position: Vec<i64>,
    custom_id_digest: Vec<Vec<u8>>,
    load_digest: Vec<Vec<u8>>,
    cargo: Vec<Uuid>,
    growth: BTreeMap<Uuid, GroupGrowth>,
}

impl MemberColumns {
    pub(crate) fn push(&mut self, member: NewMember, cargo: CargoId, held: i64) {
        let (group, position) = (member.group.uuid(), signed(member.position));
        let growth = self.growth.entry(group).or_default();
        growth.total += 1;
        growth.held += held;
        growth.next_position = growth.next_position.max(position + 1);
        self.group.push(group);
        self.position.push(position);
        self.custom_id_digest.push(member.custom_id_digest);
        self.load_digest.push(member.load_digest);
        self.cargo.push(cargo.uuid());
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.group.is_empty()
    }
}

/// Stores the members, and counts them in their groups, which are locked.
pub(crate) async fn insert_members(
    tx: &mut Transaction,
    members: &MemberColumns,
    now: Timestamp,
) -> Result<(), Error> {
    let growth = members.growth.values();
    let groups: Vec<Uuid> = members.growth.keys().copied().collect();
    let totals: Vec<i64> = growth.clone().map(|it| it.total).collect();
    let held: Vec<i64> = growth.clone().map(|it| it.held).collect();
    let next: Vec<i64> = growth.map(|it| it.next_position).collect();
    sqlx::query!(
        "with added as (
             insert into shard.group_member
                 (group_id, position, custom_id_digest, load_digest, cargo)
             select * from unnest($1::uuid[], $2::bigint[], $3::bytea[], $4::bytea[], $5::uuid[])
         )
         update shard.cargo_group g set total = g.total + more.total, held = g.held + more.held,
             next_position = greatest(g.next_position, more.next_position), loaded_at = $10
         from unnest($6::uuid[], $7::bigint[], $8::bigint[], $9::bigint[])
             as more (id, total, held, next_position)
         where g.id = more.id",
        &members.group,
        &members.position,
        &members.custom_id_digest,
        &members.load_digest,
        &members.cargo,
        &groups,
        &totals,
        &held,
        &next,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
