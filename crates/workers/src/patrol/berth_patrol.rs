//! The patrol of one berth: staging, open uploads, published bytes.

use std::collections::HashSet;

use chrono::TimeDelta;
use domain::id::{Berth, FileId};
use domain::patrol::{self as rules, PatrolAction};
use domain::time::Timestamp;
use outbound::object_store::{ListedObject, ObjectArea, ObjectKey};
use store::Shard;
use store::shard::patrol;

use crate::file_stage_deps::FileStageDeps;
use crate::removal_guard::{RemovalError, RemovalGuard};

/// As many as the object store lists in a page.
const MAX_ROWS_PER_PAGE: i64 = 1000;

/// The patrol of one berth.
pub(super) struct BerthPatrol<'a> {
    pub(super) shard: &'a Shard,
    pub(super) guard: &'a RemovalGuard,
    pub(super) files: &'a FileStageDeps,
    pub(super) berth: Berth,
}

impl BerthPatrol<'_> {
    /// Removes unreferenced bytes; returns the files whose bytes are missing.
    pub(super) async fn run(&self) -> Result<Vec<FileId>, RemovalError> {
        self.check_staging().await?;
        self.check_uploads().await?;
        self.check_published().await
    }

    async fn check_staging(&self) -> Result<(), RemovalError> {
        let mut after = None;
        loop {
            let page =
                self.files
                    .objects
                    .list_objects(ObjectArea::Staging, self.berth, after.as_deref());
            let page = page.await?;
            let known = patrol::find_files(self.shard, &file_ids(&page.objects)).await?;
            self.guard.check_rows().await?;
            for object in &page.objects {
                let status = object
                    .file_id
                    .and_then(|id| known.get(&id))
                    .map(|file| file.status);
                let age = self.age(object.modified_at);
                if rules::judge_staged_object(status, age, self.files.grace) == PatrolAction::Remove
                {
                    self.remove(&object.key, "staging").await?;
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    async fn check_uploads(&self) -> Result<(), RemovalError> {
        let open = self
            .files
            .objects
            .list_multipart_uploads(self.berth)
            .await?;
        let ids: Vec<_> = open.iter().filter_map(|upload| upload.file_id).collect();
        let known = patrol::find_files(self.shard, &ids).await?;
        self.guard.check_rows().await?;
        for open in &open {
            let file = open.file_id.and_then(|id| known.get(&id));
            let file = file.map(|file| (file.status, file.upload.as_deref()));
            let age = self.age(open.started_at);
            if rules::judge_multipart_upload(file, &open.upload_id, age, self.files.grace)
                == PatrolAction::Remove
            {
                let key = &open.key;
                self.files
                    .objects
                    .abort_multipart_at(key, &open.upload_id)
                    .await?;
                report_removed(key, "upload");
            }
        }
        Ok(())
    }

    async fn check_published(&self) -> Result<Vec<FileId>, RemovalError> {
        let (mut after, mut reached) = (None, None);
        let mut missing = Vec::new();
        loop {
            let page = self.files.objects.list_objects(
                ObjectArea::Published,
                self.berth,
                after.as_deref(),
            );
            let page = page.await?;
            let ids = file_ids(&page.objects);
            let known = patrol::find_published(self.shard, &ids).await?;
            self.guard.check_rows().await?;
            for object in &page.objects {
                let brought = object.file_id.and_then(|id| known.get(&id));
                let (file, is_live) = brought.map_or((None, false), |it| (it.file, it.is_live));
                let age = self.age(object.modified_at);
                if rules::judge_published_object(is_live, file, age, self.files.grace)
                    == PatrolAction::Remove
                {
                    self.remove(&object.key, "published").await?;
                }
            }
            let live = known.iter().filter(|(_, it)| it.is_live);
            let live: HashSet<FileId> = live.map(|(id, _)| *id).collect();
            after = page.next;
            let until = ids.iter().max().copied().filter(|_| after.is_some());
            missing.extend(self.find_missing(reached, until, &live).await?);
            if after.is_none() {
                return Ok(missing);
            }
            reached = until.or(reached);
        }
    }

    /// Finds rows whose bytes are not listed. Rows are read in the order of the listing, so that
    /// one page of each is compared at a time.
    async fn find_missing(
        &self,
        mut after: Option<FileId>,
        until: Option<FileId>,
        listed: &HashSet<FileId>,
    ) -> Result<Vec<FileId>, RemovalError> {
        let mut missing = Vec::new();
        loop {
            let live =
                patrol::list_live_objects(self.shard, self.berth, after, MAX_ROWS_PER_PAGE).await?;
            let here = live
                .iter()
                .filter(|id| until.is_none_or(|until| **id <= until));
            for id in here.filter(|id| !listed.contains(id)) {
                missing.extend(self.confirm_missing(*id).await?);
            }
            after = live.last().copied();
            if after.is_none() || (until.is_some() && after > until) {
                return Ok(missing);
            }
        }
    }

    /// Logs an error if the bytes are still missing. They may have been uploaded after the
    /// listing, or the row removed since.
    async fn confirm_missing(&self, id: FileId) -> Result<Option<FileId>, RemovalError> {
        let found = self
            .files
            .objects
            .head(&self.files.objects.published_key(id))
            .await?;
        if found.is_some()
            || !patrol::find_live_objects(self.shard, &[id])
                .await?
                .contains(&id)
        {
            return Ok(None);
        }
        metrics::counter!("longshore_patrol_missing_objects_total").increment(1);
        tracing::error!(object.id = %id, "the bytes of a ready file are missing in the object store: restore them from a backup");
        Ok(Some(id))
    }

    async fn remove(&self, key: &ObjectKey, what: &'static str) -> Result<(), RemovalError> {
        self.files.objects.delete(key).await?;
        report_removed(key, what);
        Ok(())
    }

    /// By the object store's clock, as the times in its listing are.
    fn age(&self, since: Timestamp) -> TimeDelta {
        self.files.objects.now() - since
    }
}

fn file_ids(objects: &[ListedObject]) -> Vec<FileId> {
    objects.iter().filter_map(|object| object.file_id).collect()
}

fn report_removed(key: &ObjectKey, what: &'static str) {
    metrics::counter!("longshore_patrol_removed_objects_total", "kind" => what).increment(1);
    tracing::info!(
        key = key.as_str(),
        what,
        "an object was removed: no row references it"
    );
}
