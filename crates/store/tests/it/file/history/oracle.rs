//! The same history in memory, as simply as it can be told.

use domain::file::{Declared, Status, expiry};
use domain::id::{CargoId, FileId, OrganizationId, ProjectId};
use domain::storage::{StorageQuota, StorageRefusal, Stored};
use domain::time::Timestamp;
use store::shard::file::{Change, File};

use crate::file::yard::owner;

#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) id: FileId,
    pub(super) project: ProjectId,
    pub(super) status: Status,
    pub(super) refs: u64,
    pub(super) object: Option<FileId>,
    pub(super) created_at: Timestamp,
    size: u64,
    ttl: u32,
    pinned: bool,
    expires_at: Option<Timestamp>,
    /// As it was when it was claimed.
    pub(super) claimed: Option<File>,
}

/// All but the claim, which no list shows.
impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        let all = |it: &Self| {
            let times = (it.created_at, it.ttl, it.pinned, it.expires_at);
            (
                it.id, it.project, it.status, it.refs, it.object, it.size, times,
            )
        };
        all(self) == all(other)
    }
}

impl Entry {
    pub(super) fn of(file: &File) -> Self {
        Self {
            id: file.id,
            project: file.project,
            status: file.status,
            refs: file.refs,
            object: file.object,
            created_at: file.created_at,
            size: file.size_bytes,
            ttl: file.ttl_seconds,
            pinned: file.pinned,
            expires_at: file.expires_at,
            claimed: None,
        }
    }

    pub(super) fn ready(&mut self, now: Timestamp) {
        self.status = Status::Ready;
        self.expires_at = Some(expiry(now, self.ttl));
    }

    fn is_late(&self, now: Timestamp) -> bool {
        !self.pinned && self.expires_at.is_some_and(|end| end <= now)
    }

    pub(super) fn may_be_named(&self, now: Timestamp) -> bool {
        self.status == Status::Ready && !self.is_late(now)
    }

    pub(super) fn expires(&self, now: Timestamp) -> bool {
        self.status == Status::Ready && self.refs == 0 && self.is_late(now)
    }

    pub(super) fn change(&mut self, change: &Change, now: Timestamp) {
        self.pinned = change.pinned.unwrap_or(self.pinned);
        if let Some(ttl) = change.ttl_seconds {
            self.ttl = ttl;
            self.expires_at = self.expires_at.map(|_| expiry(now, ttl));
        }
    }

    const fn counts(&self) -> bool {
        matches!(
            self.status,
            Status::Uploading | Status::Validating | Status::Ready
        )
    }
}

#[derive(Debug)]
struct Object {
    id: FileId,
    project: ProjectId,
    declared: Declared,
    files: u64,
}

#[derive(Debug, Default)]
pub(super) struct Oracle {
    pub(super) files: Vec<Entry>,
    pub(super) open: Vec<(CargoId, Vec<usize>)>,
    objects: Vec<Object>,
}

impl Oracle {
    pub(super) fn entry(&mut self, id: FileId) -> &mut Entry {
        self.files.iter_mut().find(|entry| entry.id == id).unwrap()
    }

    /// Newest first, as they are listed.
    pub(super) fn of(&self, project: ProjectId) -> Vec<Entry> {
        let entries = self.files.iter().filter(|entry| entry.project == project);
        let mut entries: Vec<_> = entries.cloned().collect();
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.id));
        entries
    }

    /// Counted anew each time.
    pub(super) fn stored(&self, organization: OrganizationId) -> Stored {
        let files = self.files.iter();
        let files = files.filter(|entry| entry.counts() && owner(entry.project) == organization);
        let open = files.clone().filter(|entry| entry.status != Status::Ready);
        let objects = self.objects.iter();
        let live = objects.filter(|it| it.files > 0 && owner(it.project) == organization);
        Stored {
            files: files.count() as u64,
            bytes: open.map(|entry| entry.size).sum::<u64>()
                + live.map(|object| object.declared.size_bytes).sum::<u64>(),
        }
    }

    pub(super) fn alike(&self, project: ProjectId, declared: &Declared) -> Option<FileId> {
        let live = self.objects.iter().filter(|object| object.files > 0);
        live.into_iter()
            .find(|it| it.project == project && it.declared == *declared)
            .map(|object| object.id)
    }

    /// The object of a duplicate, nothing for a session, or why not.
    pub(super) fn admits(
        &self,
        project: ProjectId,
        declared: &Declared,
        quota: StorageQuota,
    ) -> Result<Option<FileId>, StorageRefusal> {
        let known = self.alike(project, declared);
        let stored = self.stored(owner(project));
        let open = self.files.iter().filter(|entry| entry.project == project);
        let open = open.filter(|entry| entry.status == Status::Uploading);
        if known.is_none() && open.count() >= 20 {
            return Err(StorageRefusal::TooManySessions);
        }
        if let Some(most) = quota.files.filter(|most| stored.files >= *most) {
            return Err(StorageRefusal::TooManyFiles { most });
        }
        let after = stored.bytes + declared.size_bytes;
        if let Some(most) = quota.bytes.filter(|most| known.is_none() && after > *most) {
            let stored = stored.bytes;
            return Err(StorageRefusal::TooManyBytes { most, stored });
        }
        Ok(known)
    }

    pub(super) fn bring(&mut self, file: &File) {
        self.objects.push(Object {
            id: file.id,
            project: file.project,
            declared: file.declared(),
            files: 1,
        });
    }

    pub(super) fn attach(&mut self, object: FileId) {
        let object = self.objects.iter_mut().find(|it| it.id == object);
        object.unwrap().files += 1;
    }

    /// Deleted or past its time; says which object is gone with it.
    pub(super) fn end(&mut self, which: usize) -> Option<FileId> {
        let entry = &mut self.files[which];
        entry.status = match entry.status {
            Status::Uploading | Status::Validating => Status::Failed,
            Status::Ready | Status::Failed | Status::Expired => Status::Expired,
        };
        let id = entry.object.take()?;
        let object = self.objects.iter_mut().find(|it| it.id == id).unwrap();
        object.files -= 1;
        (object.files == 0).then_some(id)
    }
}
