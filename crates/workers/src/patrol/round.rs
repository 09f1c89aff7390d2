//! The round through one berth: staging, open uploads, published bytes.

use std::collections::HashSet;

use chrono::TimeDelta;
use domain::id::{Berth, FileId};
use domain::patrol::{self as rules, Deed};
use domain::time::Timestamp;
use outbound::objects::{Area, Key, Listed};
use store::Shard;
use store::shard::patrol;

use crate::files::Files;
use crate::removal::{Broken, RemovalGuard};

/// As many as the store lists in a page.
const MOST: i64 = 1000;

/// One berth, on its round.
pub(super) struct Round<'a> {
    pub(super) shard: &'a Shard,
    pub(super) guard: &'a RemovalGuard,
    pub(super) files: &'a Files,
    pub(super) berth: Berth,
}

impl Round<'_> {
    /// Removes what nobody wants; says which bytes are missing.
    pub(super) async fn walk(&self) -> Result<Vec<FileId>, Broken> {
        self.staging().await?;
        self.uploads().await?;
        self.published().await
    }

    async fn staging(&self) -> Result<(), Broken> {
        let mut after = None;
        loop {
            let page = self
                .files
                .objects
                .list(Area::Staging, self.berth, after.as_deref());
            let page = page.await?;
            let known = patrol::files(self.shard, &ids(&page.objects)).await?;
            self.guard.check_rows().await?;
            for object in &page.objects {
                let status = object
                    .id
                    .and_then(|id| known.get(&id))
                    .map(|file| file.status);
                let age = self.age(object.modified);
                if rules::of_staged(status, age, self.files.grace) == Deed::Remove {
                    self.remove(&object.key, "staging").await?;
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    async fn uploads(&self) -> Result<(), Broken> {
        let open = self.files.objects.list_uploads(self.berth).await?;
        let ids: Vec<_> = open.iter().filter_map(|upload| upload.id).collect();
        let known = patrol::files(self.shard, &ids).await?;
        self.guard.check_rows().await?;
        for open in &open {
            let file = open.id.and_then(|id| known.get(&id));
            let file = file.map(|file| (file.status, file.upload.as_deref()));
            let age = self.age(open.begun);
            if rules::of_upload(file, &open.upload, age, self.files.grace) == Deed::Remove {
                let key = &open.key;
                self.files
                    .objects
                    .abort_multipart_at(key, &open.upload)
                    .await?;
                removed(key, "upload");
            }
        }
        Ok(())
    }

    async fn published(&self) -> Result<Vec<FileId>, Broken> {
        let (mut after, mut reached) = (None, None);
        let mut missing = Vec::new();
        loop {
            let page = self
                .files
                .objects
                .list(Area::Published, self.berth, after.as_deref());
            let page = page.await?;
            let ids = ids(&page.objects);
            let known = patrol::published(self.shard, &ids).await?;
            self.guard.check_rows().await?;
            for object in &page.objects {
                let brought = object.id.and_then(|id| known.get(&id));
                let (file, is_live) = brought.map_or((None, false), |it| (it.file, it.is_live));
                let age = self.age(object.modified);
                if rules::of_published(is_live, file, age, self.files.grace) == Deed::Remove {
                    self.remove(&object.key, "published").await?;
                }
            }
            let live = known.iter().filter(|(_, it)| it.is_live);
            let live: HashSet<FileId> = live.map(|(id, _)| *id).collect();
            after = page.next;
            let until = ids.iter().max().copied().filter(|_| after.is_some());
            missing.extend(self.missing(reached, until, &live).await?);
            if after.is_none() {
                return Ok(missing);
            }
            reached = until.or(reached);
        }
    }

    /// Says loudly which bytes are not there that must be: nothing here can bring them back.
    /// Rows go in the order of the listing, so that a page of each is compared.
    async fn missing(
        &self,
        mut after: Option<FileId>,
        until: Option<FileId>,
        listed: &HashSet<FileId>,
    ) -> Result<Vec<FileId>, Broken> {
        let mut missing = Vec::new();
        loop {
            let live = patrol::live(self.shard, self.berth, after, MOST).await?;
            let here = live
                .iter()
                .filter(|id| until.is_none_or(|until| **id <= until));
            for id in here.filter(|id| !listed.contains(id)) {
                missing.extend(self.look_for(*id).await?);
            }
            after = live.last().copied();
            if after.is_none() || (until.is_some() && after > until) {
                return Ok(missing);
            }
        }
    }

    /// It may have come after it was listed, or gone before it was looked for.
    async fn look_for(&self, id: FileId) -> Result<Option<FileId>, Broken> {
        let found = self
            .files
            .objects
            .head(&self.files.objects.published(id))
            .await?;
        if found.is_some() || !patrol::objects(self.shard, &[id]).await?.contains(&id) {
            return Ok(None);
        }
        metrics::counter!("patrol_missing_total").increment(1);
        tracing::error!(object.id = %id, "the bytes of {id} are not in the store");
        Ok(Some(id))
    }

    async fn remove(&self, key: &Key, what: &'static str) -> Result<(), Broken> {
        self.files.objects.delete(key).await?;
        removed(key, what);
        Ok(())
    }

    /// By the clock that the store's own moments are of.
    fn age(&self, since: Timestamp) -> TimeDelta {
        self.files.objects.now() - since
    }
}

fn ids(objects: &[Listed]) -> Vec<FileId> {
    objects.iter().filter_map(|object| object.id).collect()
}

fn removed(key: &Key, what: &'static str) {
    metrics::counter!("patrol_removed_total", "what" => what).increment(1);
    tracing::info!(
        key = key.as_str(),
        what,
        "{} was removed: no row wants it",
        key.as_str()
    );
}
