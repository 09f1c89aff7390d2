//! Compares the bucket with the rows: orphaned objects, and rows without an object.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::json;
use uuid::Uuid;

use crate::harness::environment::files_environment::FilesEnvironment;
use crate::harness::failure::{FailureContext as _, Result};
use crate::harness::progress::report_progress;
use crate::harness::verdict::TrialVerdict;

const POLL_INTERVAL: Duration = Duration::from_millis(500);
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_PREFIX: &str = "probe/";
/// Objects that the service keeps for itself.
const MARKER_PREFIX: &str = "marker/";

/// The differences, and what is still in progress.
#[derive(Debug, Default)]
pub struct BucketReconciliation {
    /// Sessions, and files that are being validated.
    open: usize,
    /// Rows with objects that the service still has to remove.
    pending_cleanups: usize,
    /// Objects without a row, and open multipart uploads.
    orphans: Vec<String>,
    /// Rows without an object.
    missing: Vec<String>,
    /// Objects of a probe that was killed or cut; the next probe removes them after an hour.
    probes: usize,
    /// Objects that match a row.
    objects: usize,
    /// How long it took until bucket and rows matched.
    waited: Duration,
}

impl BucketReconciliation {
    fn is_done(&self) -> bool {
        self.open == 0
            && self.pending_cleanups == 0
            && self.orphans.is_empty()
            && self.missing.is_empty()
    }

    pub fn judge(&self, verdict: &mut TrialVerdict) {
        verdict
            .record("objects", self.objects)
            .record("left_by_probes", self.probes)
            .record("settled_after_seconds", self.waited.as_secs())
            .check("nothing is left uploading or validating", self.open == 0)
            .check(
                "no row has objects left to remove",
                self.pending_cleanups == 0,
            )
            .check(
                "no object without a row, and no open upload",
                self.orphans.is_empty(),
            )
            .check("no row without its object", self.missing.is_empty());
        for (name, found) in [("orphans", &self.orphans), ("missing", &self.missing)] {
            if !found.is_empty() {
                let some: Vec<&String> = found.iter().take(10).collect();
                verdict.record(name, json!({"count": found.len(), "some": some}));
            }
        }
    }
}

/// Compares until both match, or until the time is over.
pub async fn wait_until_reconciled(
    environment: &FilesEnvironment,
    within: Duration,
) -> Result<BucketReconciliation> {
    let begun = Instant::now();
    let mut reported_at = begun;
    loop {
        let mut survey = reconcile_once(environment).await?;
        survey.waited = begun.elapsed();
        if survey.is_done() || begun.elapsed() > within {
            return Ok(survey);
        }
        if reported_at.elapsed() > PROGRESS_INTERVAL {
            reported_at = Instant::now();
            report_progress(format!(
                "{} open, {} to clean up, {} orphans, {} missing",
                survey.open,
                survey.pending_cleanups,
                survey.orphans.len(),
                survey.missing.len()
            ));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

async fn reconcile_once(environment: &FilesEnvironment) -> Result<BucketReconciliation> {
    let mut survey = BucketReconciliation::default();
    let mut wanted = BTreeSet::new();
    for (_, pool) in &environment.service.shards {
        let open = "select count(*) from shard.file where status in ('uploading', 'validating')";
        let open: i64 = sqlx::query_scalar(open)
            .fetch_one(pool)
            .await
            .context("counting files")?;
        survey.open += usize::try_from(open).unwrap_or_default();
        let owing = "select (select count(*) from shard.file
                where staged and status in ('ready', 'failed', 'expired'))
            + (select count(*) from shard.object where gone_at is not null)";
        let owing: i64 = sqlx::query_scalar(owing)
            .fetch_one(pool)
            .await
            .context("counting pending cleanups")?;
        survey.pending_cleanups += usize::try_from(owing).unwrap_or_default();
        let live = "select id from shard.object where gone_at is null";
        let live: Vec<Uuid> = sqlx::query_scalar(live)
            .fetch_all(pool)
            .await
            .context("reading objects")?;
        wanted.extend(live.into_iter().map(|id| id.simple().to_string()));
    }
    let mut there = BTreeSet::new();
    for key in environment.object_store.bucket.list_keys().await? {
        let name = key.rsplit('/').next().unwrap_or_default();
        if key.starts_with("files/") && wanted.contains(name) {
            there.insert(name.to_owned());
        } else if key.starts_with(PROBE_PREFIX) {
            survey.probes += 1;
        } else if key != "owner" && !key.starts_with(MARKER_PREFIX) {
            survey.orphans.push(key);
        }
    }
    survey.missing = wanted.difference(&there).cloned().collect();
    survey.objects = there.len();
    let uploads = environment
        .object_store
        .bucket
        .list_multipart_uploads()
        .await?;
    let uploads = uploads
        .into_iter()
        .filter(|open| !open.key.starts_with(PROBE_PREFIX))
        .map(|open| format!("upload {} of {}", open.upload_id, open.key));
    survey.orphans.extend(uploads);
    Ok(survey)
}
