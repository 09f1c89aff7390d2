//! Compares the bucket with the rows: orphaned objects, and rows without an object.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::harness::environment::databases;
use crate::harness::{FilesEnvironment, PollLimits, Result, TrialVerdict};

const POLL_INTERVAL: Duration = Duration::from_millis(500);
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
            .check_none(
                "no object without a row, and no open upload",
                "orphans",
                &self.orphans,
            )
            .check_none("no row without its object", "missing", &self.missing);
    }
}

/// Compares until both match, or until the time is over.
pub async fn wait_until_reconciled(
    environment: &FilesEnvironment,
    within: Duration,
) -> Result<BucketReconciliation> {
    let begun = Instant::now();
    let limits = PollLimits::new(within, POLL_INTERVAL);
    let reconcile = async || reconcile_once(environment).await;
    let mut survey = limits
        .read_until(BucketReconciliation::is_done, reconcile)
        .await?;
    survey.waited = begun.elapsed();
    Ok(survey)
}

async fn reconcile_once(environment: &FilesEnvironment) -> Result<BucketReconciliation> {
    let mut survey = BucketReconciliation::default();
    let mut wanted = BTreeSet::new();
    let query = "select
            (select count(*) from shard.file where status in ('uploading', 'validating')),
            (select count(*) from shard.file
                where staged and status in ('ready', 'failed', 'expired'))
            + (select count(*) from shard.object where gone_at is not null),
            array(select id from shard.object where gone_at is null)";
    let rows: Vec<(i64, i64, Vec<Uuid>)> =
        databases::fetch_rows(&environment.service.shards, query).await?;
    for (open, pending_cleanups, objects) in rows {
        survey.open += usize::try_from(open).unwrap_or_default();
        survey.pending_cleanups += usize::try_from(pending_cleanups).unwrap_or_default();
        wanted.extend(objects.into_iter().map(|id| id.simple().to_string()));
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
