//! The oracle: the same history in memory, implemented as simply as possible.

use domain::file::{FileDeclaration, FileStatus, expires_at};
use domain::id::{CargoId, FileId, OrganizationId, ProjectId};
use domain::storage_quota::{StorageQuota, StorageRefusal, StorageUsage};
use domain::time::Timestamp;
use store::shard::file::{FileChange, FileRow};

use crate::file::fixture::owner;

#[derive(Debug, Clone)]
pub(super) struct OracleFile {
    pub(super) id: FileId,
    pub(super) project: ProjectId,
    pub(super) status: FileStatus,
    pub(super) refs: u64,
    pub(super) object: Option<FileId>,
    pub(super) created_at: Timestamp,
    size: u64,
    ttl: u32,
    pinned: bool,
    expires_at: Option<Timestamp>,
    /// The row at the time of the claim.
    pub(super) claimed: Option<FileRow>,
}

/// Compares everything except the claim, which lists do not contain.
impl PartialEq for OracleFile {
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

impl OracleFile {
    pub(super) fn of(file: &FileRow) -> Self {
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

    pub(super) fn mark_ready(&mut self, now: Timestamp) {
        self.status = FileStatus::Ready;
        self.expires_at = Some(expires_at(now, self.ttl));
    }

    fn is_expired(&self, now: Timestamp) -> bool {
        !self.pinned && self.expires_at.is_some_and(|end| end <= now)
    }

    pub(super) fn can_be_referenced(&self, now: Timestamp) -> bool {
        self.status == FileStatus::Ready && !self.is_expired(now)
    }

    pub(super) fn is_due_to_expire(&self, now: Timestamp) -> bool {
        self.status == FileStatus::Ready && self.refs == 0 && self.is_expired(now)
    }

    pub(super) fn change(&mut self, change: &FileChange, now: Timestamp) {
        self.pinned = change.pinned.unwrap_or(self.pinned);
        if let Some(ttl) = change.ttl_seconds {
            self.ttl = ttl;
            self.expires_at = self.expires_at.map(|_| expires_at(now, ttl));
        }
    }

    const fn is_counted(&self) -> bool {
        matches!(
            self.status,
            FileStatus::Uploading | FileStatus::Validating | FileStatus::Ready
        )
    }
}

#[derive(Debug)]
struct Object {
    id: FileId,
    project: ProjectId,
    declared: FileDeclaration,
    files: u64,
}

#[derive(Debug, Default)]
pub(super) struct FileOracle {
    pub(super) files: Vec<OracleFile>,
    pub(super) open: Vec<(CargoId, Vec<usize>)>,
    objects: Vec<Object>,
}

impl FileOracle {
    pub(super) fn entry(&mut self, id: FileId) -> &mut OracleFile {
        self.files.iter_mut().find(|entry| entry.id == id).unwrap()
    }

    /// Newest first, as they are listed.
    pub(super) fn list(&self, project: ProjectId) -> Vec<OracleFile> {
        let entries = self.files.iter().filter(|entry| entry.project == project);
        let mut entries: Vec<_> = entries.cloned().collect();
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.id));
        entries
    }

    /// Recomputed on each call.
    pub(super) fn stored(&self, organization: OrganizationId) -> StorageUsage {
        let files = self.files.iter();
        let files =
            files.filter(|entry| entry.is_counted() && owner(entry.project) == organization);
        let open = files
            .clone()
            .filter(|entry| entry.status != FileStatus::Ready);
        let objects = self.objects.iter();
        let live = objects.filter(|it| it.files > 0 && owner(it.project) == organization);
        StorageUsage {
            files: files.count() as u64,
            bytes: open.map(|entry| entry.size).sum::<u64>()
                + live.map(|object| object.declared.size_bytes).sum::<u64>(),
        }
    }

    pub(super) fn find_duplicate(
        &self,
        project: ProjectId,
        declared: &FileDeclaration,
    ) -> Option<FileId> {
        let live = self.objects.iter().filter(|object| object.files > 0);
        live.into_iter()
            .find(|it| it.project == project && it.declared == *declared)
            .map(|object| object.id)
    }

    /// The object of a duplicate, None for a session, or the refusal.
    pub(super) fn admit(
        &self,
        project: ProjectId,
        declared: &FileDeclaration,
        quota: StorageQuota,
    ) -> Result<Option<FileId>, StorageRefusal> {
        let known = self.find_duplicate(project, declared);
        let stored = self.stored(owner(project));
        let open = self.files.iter().filter(|entry| entry.project == project);
        let open = open.filter(|entry| entry.status == FileStatus::Uploading);
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

    pub(super) fn add_object(&mut self, file: &FileRow) {
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

    /// Deletes or expires a file; returns the object that no file uses any more.
    pub(super) fn end_file(&mut self, which: usize) -> Option<FileId> {
        let entry = &mut self.files[which];
        entry.status = match entry.status {
            FileStatus::Uploading | FileStatus::Validating => FileStatus::Failed,
            FileStatus::Ready | FileStatus::Failed | FileStatus::Expired => FileStatus::Expired,
        };
        let id = entry.object.take()?;
        let object = self.objects.iter_mut().find(|it| it.id == id).unwrap();
        object.files -= 1;
        (object.files == 0).then_some(id)
    }
}
