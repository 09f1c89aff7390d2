//! The groups of a group commit's loads: which loads repeat an earlier one, and which position each
//! new one gets.

use std::collections::{BTreeSet, HashMap, HashSet};

use domain::cargo_group::MAX_GROUP_CARGO;
use domain::group_digest::{GroupDigest, custom_id_digest, position_digest, unnamed_digest};
use domain::id::{CargoId, GroupId, ProjectId};
use store::encryption::{WriteKey, WriteKeys};
use store::shard::account::LockedAccounts;
use store::shard::group::member::{self, GroupMemberRecord, LockedGroup, NewMember};
use store::shard::project_keys;
use store::{Error, Shard, Transaction};

use crate::group_commit::{
    GroupMembership, PreparedLoad, StoreLoadError, StoreLoadResult, StoredLoad,
};

/// How many positions are checked for each load without one: its text may be a custom id.
const POSITIONS_PER_LOAD: u64 = 2;

impl GroupMembership {
    /// The digest of its custom id, which is the position as text if it names only that.
    fn name_digest(&self) -> Option<GroupDigest> {
        let custom_id = self.custom_id.as_ref();
        let named = custom_id.map(|custom_id| custom_id_digest(custom_id.as_str()));
        named.or_else(|| self.position.map(position_digest))
    }

    /// The same custom id with the same load is the same cargo. A member from before encryption
    /// was switched on has plain digests.
    fn answer_repeated(&self, earlier: &EarlierMember, key: &WriteKey) -> StoreLoadResult {
        if stored_forms(&self.load_digest, key).contains(&earlier.load_digest) {
            return Ok(StoredLoad::Replay(earlier.cargo));
        }
        Err(match &self.custom_id {
            Some(_) => StoreLoadError::CustomIdReused,
            None => StoreLoadError::PositionTaken,
        })
    }
}

/// A member that has a custom id already.
#[derive(Debug)]
struct EarlierMember {
    cargo: CargoId,
    load_digest: Vec<u8>,
}

impl From<GroupMemberRecord> for EarlierMember {
    fn from(record: GroupMemberRecord) -> Self {
        Self {
            cargo: record.cargo,
            load_digest: record.load_digest,
        }
    }
}

/// The answer without a lock, for a load that cannot be stored any more. Nothing if it is new.
pub(crate) async fn find_repeated_member(
    shard: &Shard,
    project: ProjectId,
    membership: Option<&GroupMembership>,
) -> Result<Option<StoreLoadResult>, Error> {
    let Some((membership, digest)) = membership.and_then(|it| Some((it, it.name_digest()?))) else {
        return Ok(None);
    };
    let keys = project_keys::write_keys(shard, [(project, 0)]).await?;
    let key = keys.find(project)?;
    let digests = stored_forms(&digest, key);
    let earlier = member::find_repeated(shard, project, membership.group, &digests).await?;
    Ok(earlier.map(|earlier| membership.answer_repeated(&earlier.into(), key)))
}

/// How a digest may be stored: keyed, or plain from before encryption was switched on.
fn stored_forms(digest: &GroupDigest, key: &WriteKey) -> Vec<Vec<u8>> {
    let (keyed, plain) = (key.stored_digest(digest), digest.to_vec());
    if keyed == plain {
        return vec![plain];
    }
    vec![keyed, plain]
}

/// A group that the transaction has locked, as the loads before have left it.
#[derive(Debug)]
struct LoadedGroup {
    row: LockedGroup,
    /// The texts of smaller positions were looked for among the custom ids.
    searched_until: u64,
}

/// The groups of the loads, and their members with the same names.
#[derive(Debug, Default)]
pub(super) struct GroupMembers {
    groups: HashMap<GroupId, LoadedGroup>,
    /// By the stored digest of the custom id.
    members: HashMap<(GroupId, Vec<u8>), EarlierMember>,
    taken_positions: HashSet<(GroupId, u64)>,
}

impl GroupMembers {
    /// Locks the groups of the loads, after their accounts and files. Loads without a group cost
    /// nothing.
    pub(super) async fn read(
        tx: &mut Transaction,
        loads: &[&PreparedLoad],
        locked: &LockedAccounts,
        keys: &WriteKeys,
    ) -> Result<Self, Error> {
        if loads.iter().all(|load| load.membership.is_none()) {
            return Ok(Self::default());
        }
        let organizations: HashSet<_> = locked.accounts.iter().map(|it| it.organization).collect();
        // Loads whose account is locked by another transaction are not decided here.
        let decided = loads.iter().copied();
        let decided = decided.filter(|it| organizations.contains(&it.caller.organization));
        let grouped: Vec<GroupedLoad<'_>> = decided.filter_map(GroupedLoad::of).collect();
        let named: BTreeSet<(GroupId, ProjectId)> = grouped
            .iter()
            .map(|load| (load.membership.group, load.project))
            .collect();
        let named: Vec<_> = named.into_iter().collect();
        let rows = member::lock(tx, &named).await?;
        let groups = rows.into_iter();
        let groups: HashMap<GroupId, LoadedGroup> = groups
            .map(|(id, row)| (id, LoadedGroup::of(id, row, &grouped)))
            .collect();
        let mut members = Self {
            groups,
            ..Self::default()
        };
        members.find_names(tx, &grouped, keys).await?;
        members.find_positions(tx, &grouped).await?;
        Ok(members)
    }

    /// Reads the members that have the custom ids of the loads, or the next positions as theirs.
    async fn find_names(
        &mut self,
        tx: &mut Transaction,
        grouped: &[GroupedLoad<'_>],
        keys: &WriteKeys,
    ) -> Result<(), Error> {
        let mut searched = Vec::new();
        for load in grouped {
            let group = load.membership.group;
            if let (Some(digest), Ok(key)) =
                (load.membership.name_digest(), keys.find(load.project))
            {
                let forms = stored_forms(&digest, key).into_iter();
                searched.extend(forms.map(|form| (group.uuid(), form)));
            }
        }
        for (group, loaded) in &self.groups {
            let Ok(key) = keys.find(loaded.row.project) else {
                continue;
            };
            for position in loaded.row.next_position..loaded.searched_until {
                let forms = stored_forms(&position_digest(position), key).into_iter();
                searched.extend(forms.map(|form| (group.uuid(), form)));
            }
        }
        if searched.is_empty() {
            return Ok(());
        }
        let (groups, digests): (Vec<_>, Vec<_>) = searched.into_iter().unzip();
        for record in member::find_by_digests(tx, &groups, &digests).await? {
            let name = (record.group, record.custom_id_digest.clone());
            self.members.insert(name, record.into());
        }
        Ok(())
    }

    /// Reads which of the named positions are taken.
    async fn find_positions(
        &mut self,
        tx: &mut Transaction,
        grouped: &[GroupedLoad<'_>],
    ) -> Result<(), Error> {
        let named = grouped.iter().filter_map(|load| {
            let position = i64::try_from(load.membership.position?).ok()?;
            Some((load.membership.group.uuid(), position))
        });
        let (groups, positions): (Vec<_>, Vec<_>) = named.unzip();
        if groups.is_empty() {
            return Ok(());
        }
        let taken = member::find_taken_positions(tx, &groups, &positions).await?;
        self.taken_positions.extend(taken);
        Ok(())
    }

    /// The answer to a load whose custom id is taken. It does not matter whether the group is
    /// sealed.
    pub(super) fn answer(&self, load: &PreparedLoad, key: &WriteKey) -> Option<StoreLoadResult> {
        let membership = load.membership.as_ref()?;
        self.find_group(load, membership)?;
        let earlier = self.find_member(membership.group, &membership.name_digest()?, key)?;
        Some(membership.answer_repeated(earlier, key))
    }

    /// The place of a new load in its group, if it becomes this cargo. None if it has no group.
    pub(super) fn admit(
        &self,
        load: &PreparedLoad,
        cargo: CargoId,
        key: &WriteKey,
    ) -> Result<Option<NewMember>, StoreLoadError> {
        let Some(membership) = &load.membership else {
            return Ok(None);
        };
        let group = self.find_group(load, membership);
        let group = group.ok_or(StoreLoadError::GroupNotFound)?;
        if group.row.is_sealed {
            return Err(StoreLoadError::GroupSealed);
        }
        if group.row.total >= MAX_GROUP_CARGO {
            return Err(StoreLoadError::GroupFull);
        }
        let place = match membership.name_digest() {
            Some(name) => MemberPlace {
                position: self.choose_position(membership, group)?,
                name,
            },
            None => self.choose_unnamed_place(membership, cargo, group, key),
        };
        Ok(Some(NewMember {
            group: membership.group,
            position: place.position,
            custom_id_digest: key.stored_digest(&place.name),
            load_digest: key.stored_digest(&membership.load_digest),
        }))
    }

    /// The named position, or the next one.
    fn choose_position(
        &self,
        membership: &GroupMembership,
        group: &LoadedGroup,
    ) -> Result<u64, StoreLoadError> {
        let Some(position) = membership.position else {
            return Ok(group.row.next_position);
        };
        if self.taken_positions.contains(&(membership.group, position)) {
            return Err(StoreLoadError::PositionTaken);
        }
        Ok(position)
    }

    /// The next position whose text is free too, for a load that names neither a position nor a
    /// custom id. If all that were looked for are custom ids, it is the next position under a
    /// digest of the cargo: such a load is never refused because of other members' custom ids.
    fn choose_unnamed_place(
        &self,
        membership: &GroupMembership,
        cargo: CargoId,
        group: &LoadedGroup,
        key: &WriteKey,
    ) -> MemberPlace {
        let next = group.row.next_position;
        let mut places = (next..group.searched_until).map(|position| MemberPlace {
            position,
            name: position_digest(position),
        });
        let is_free =
            |it: &MemberPlace| self.find_member(membership.group, &it.name, key).is_none();
        let free = places.find(is_free);
        free.unwrap_or_else(|| MemberPlace {
            position: next,
            name: unnamed_digest(cargo),
        })
    }

    /// Adds a load of this transaction, for those that follow it.
    pub(super) fn add(&mut self, member: &NewMember, cargo: CargoId) {
        let (group, position) = (member.group, member.position);
        if let Some(loaded) = self.groups.get_mut(&group) {
            loaded.row.total += 1;
            loaded.row.next_position = loaded.row.next_position.max(position + 1);
        }
        self.taken_positions.insert((group, position));
        let earlier = EarlierMember {
            cargo,
            load_digest: member.load_digest.clone(),
        };
        let name = (group, member.custom_id_digest.clone());
        self.members.insert(name, earlier);
    }

    fn find_group(
        &self,
        load: &PreparedLoad,
        membership: &GroupMembership,
    ) -> Option<&LoadedGroup> {
        let group = self.groups.get(&membership.group)?;
        (group.row.project == load.caller.project).then_some(group)
    }

    fn find_member(
        &self,
        group: GroupId,
        digest: &GroupDigest,
        key: &WriteKey,
    ) -> Option<&EarlierMember> {
        let mut forms = stored_forms(digest, key).into_iter();
        forms.find_map(|form| self.members.get(&(group, form)))
    }
}

/// Where a new load goes in its group.
struct MemberPlace {
    position: u64,
    name: GroupDigest,
}

/// A load into a group.
struct GroupedLoad<'a> {
    project: ProjectId,
    membership: &'a GroupMembership,
}

impl<'a> GroupedLoad<'a> {
    fn of(load: &'a PreparedLoad) -> Option<Self> {
        Some(Self {
            project: load.caller.project,
            membership: load.membership.as_ref()?,
        })
    }
}

impl LoadedGroup {
    /// Loads without a position get those after the largest that is stored or named here.
    fn of(id: GroupId, row: LockedGroup, grouped: &[GroupedLoad<'_>]) -> Self {
        let loads = grouped.iter().filter(|load| load.membership.group == id);
        let (mut next, mut unplaced) = (row.next_position, 0);
        for load in loads {
            match load.membership.position {
                Some(position) => next = next.max(position + 1),
                None => unplaced += POSITIONS_PER_LOAD,
            }
        }
        Self {
            row: LockedGroup {
                next_position: next,
                ..row
            },
            searched_until: next + unplaced,
        }
    }
}
