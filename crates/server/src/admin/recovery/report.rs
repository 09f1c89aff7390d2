//! `longshored admin recovery report`: what is lost and still known elsewhere, as JSON lines. The
//! last line is the summary.

use std::collections::HashSet;
use std::sync::Arc;

use domain::id::{CargoId, FileId};
use domain::recovery::JobFate;
use domain::time::{Timestamp, to_wire};
use outbound::object_store::{ListedObject, ObjectArea, ObjectStore};
use serde_json::{Value, json};
use store::Shard;
use store::shard::{patrol, recovery};
use workers::recovery::unknown_jobs;

use crate::admin::AdminFailure;
use crate::admin::print_output;
use crate::admin::recovery::{
    JobSearchArguments, OnlyShard, RecoveryContext, failed_on, jobs, lost_items,
};

/// What no one can name, for the summary.
const NOT_NAMED: &str = "cargo that was only in the database: waiting for a batch, answered by a \
     realtime server, or at a provider whose jobs cannot be read; its callers have its 202";

#[derive(Debug, Default)]
struct Report {
    lines: Vec<Value>,
    jobs: usize,
    cargo: usize,
    /// Jobs whose cargo could not be read.
    unread_jobs: usize,
    unlabelled_jobs: u64,
    objects: usize,
}

pub(super) async fn run(
    context: RecoveryContext<'_>,
    only: &OnlyShard,
    search: &JobSearchArguments,
) -> Result<(), AdminFailure> {
    let mut report = Report::default();
    let shards = context.shards(only)?;
    for shard in &shards {
        report.add_jobs(context, shard, search).await?;
    }
    if let Some(objects) = context.objects {
        // An object that only another shard knows is not lost.
        let every: Vec<_> = context.admin.shards.iter().collect();
        report.add_objects(objects, &every).await?;
    }
    report.lines.push(json!({
        "kind": "summary",
        "jobs": report.jobs,
        "jobs_without_readable_cargo": report.unread_jobs,
        "jobs_without_label": report.unlabelled_jobs,
        "cargo": report.cargo,
        "objects": report.objects,
        "cannot_be_named": NOT_NAMED,
    }));
    let lines = report.lines.iter().map(|line| format!("{line}\n"));
    print_output(&lines.collect::<String>())
}

impl Report {
    async fn add_jobs(
        &mut self,
        context: RecoveryContext<'_>,
        shard: &Shard,
        search: &JobSearchArguments,
    ) -> Result<(), AdminFailure> {
        let (providers, found) = jobs::find(context, shard, search).await?;
        self.unlabelled_jobs += found.unlabelled.values().sum::<u64>();
        for (account, jobs) in &found.unlabelled {
            self.lines.push(json!({
                "kind": "unlabelled_jobs", "shard": &*shard.name, "account": account, "jobs": jobs,
            }));
        }
        let lost = |fate| matches!(fate, JobFate::Cancel | JobFate::Report);
        for job in found.jobs.iter().filter(|job| lost(job.fate)) {
            let mut accounts = unknown_jobs::batch_accounts(&providers);
            let provider = accounts.find(|(name, _)| *name == job.account);
            let read = match provider {
                Some((_, provider)) => lost_items::read(provider, job).await.ok(),
                None => None,
            };
            self.jobs += 1;
            self.unread_jobs += usize::from(read.as_ref().is_none_or(Vec::is_empty));
            self.lines.push(json!({
                "kind": "job", "shard": &*shard.name, "account": job.account, "job": job.job.0,
                "batch_id": job.batch.to_string(), "items": job.items,
                "created_at": job.created_at.map(to_wire),
            }));
            let cargo = read.unwrap_or_default();
            let uuids: Vec<_> = cargo.iter().map(|id| id.uuid()).collect();
            let missing = recovery::find_missing_cargo(shard, &uuids).await;
            for id in missing.map_err(failed_on(shard))? {
                self.cargo += 1;
                self.lines.push(json!({
                    "kind": "cargo", "shard": &*shard.name, "account": job.account,
                    "job": job.job.0, "cargo_id": CargoId::from_uuid(id).to_string(),
                }));
            }
        }
        Ok(())
    }

    /// Objects that no shard knows. An object's key has its file's id, and no project.
    async fn add_objects(
        &mut self,
        objects: &ObjectStore,
        shards: &[&Arc<Shard>],
    ) -> Result<(), AdminFailure> {
        for area in [ObjectArea::Staging, ObjectArea::Published] {
            let mut after = None;
            loop {
                let page = objects.list_area(area, after.as_deref()).await?;
                let unknown = find_unknown(area, &page.objects, shards).await?;
                for object in &page.objects {
                    if let Some(id) = object.file_id.filter(|id| unknown.contains(id)) {
                        self.objects += 1;
                        self.lines.push(object_line(id, object.modified_at, object));
                    }
                }
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }
}

fn object_line(id: FileId, modified_at: Timestamp, object: &ListedObject) -> Value {
    json!({
        "kind": "object", "key": object.key.as_str(), "file_id": id.to_string(),
        "modified_at": to_wire(modified_at),
    })
}

async fn find_unknown(
    area: ObjectArea,
    objects: &[ListedObject],
    shards: &[&Arc<Shard>],
) -> Result<HashSet<FileId>, AdminFailure> {
    let mut unknown: HashSet<FileId> = objects.iter().filter_map(|it| it.file_id).collect();
    for shard in shards {
        let ids: Vec<FileId> = unknown.iter().copied().collect();
        match area {
            ObjectArea::Staging => {
                let known = patrol::find_files(shard, &ids).await;
                let known = known.map_err(failed_on(shard))?;
                unknown.retain(|id| !known.contains_key(id));
            }
            ObjectArea::Published => {
                let known = patrol::find_published(shard, &ids).await;
                let known = known.map_err(failed_on(shard))?;
                let has_row = |id: &FileId| {
                    known
                        .get(id)
                        .is_some_and(|it| it.is_live || it.file.is_some())
                };
                unknown.retain(|id| !has_row(id));
            }
        }
    }
    Ok(unknown)
}
