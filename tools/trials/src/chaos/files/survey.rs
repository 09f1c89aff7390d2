//! The bucket beside the rows: what nobody wants, and what is wanted and not there.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::json;
use uuid::Uuid;

use crate::dock::Dock;
use crate::failure::{During as _, Result};
use crate::progress::say;
use crate::verdict::Verdict;

const LOOK: Duration = Duration::from_millis(500);
const TELL: Duration = Duration::from_secs(5);
const PROBES: &str = "probe/";
/// Beside files, for the service itself.
const MARKERS: &str = "marker/";

/// What is not as it should be, in words, and what is under way.
#[derive(Debug, Default)]
pub struct Survey {
    /// Sessions, and files that are being verified.
    open: usize,
    /// Rows that still owe something to the store.
    owing: usize,
    /// Objects without a row, and multipart uploads.
    strays: Vec<String>,
    /// Rows without an object.
    missing: Vec<String>,
    /// What a probe left that was killed or cut: the next one removes it, after an hour.
    probes: usize,
    /// Objects that are wanted and there.
    objects: usize,
    /// How long it took until all was well.
    waited: Duration,
}

impl Survey {
    fn is_done(&self) -> bool {
        self.open == 0 && self.owing == 0 && self.strays.is_empty() && self.missing.is_empty()
    }

    pub fn judge(&self, verdict: &mut Verdict) {
        verdict
            .note("objects", self.objects)
            .note("left_by_probes", self.probes)
            .note("settled_after_seconds", self.waited.as_secs())
            .promise("nothing is left uploading or validating", self.open == 0)
            .promise("no row owes the store anything", self.owing == 0)
            .promise(
                "no object without a row, and no open upload",
                self.strays.is_empty(),
            )
            .promise("no row without its object", self.missing.is_empty());
        for (name, told) in [("strays", &self.strays), ("missing", &self.missing)] {
            if !told.is_empty() {
                let some: Vec<&String> = told.iter().take(10).collect();
                verdict.note(name, json!({"count": told.len(), "some": some}));
            }
        }
    }
}

/// Looks until all is well, or no longer.
pub async fn settle(dock: &Dock, within: Duration) -> Result<Survey> {
    let begun = Instant::now();
    let mut told = begun;
    loop {
        let mut survey = look(dock).await?;
        survey.waited = begun.elapsed();
        if survey.is_done() || begun.elapsed() > within {
            return Ok(survey);
        }
        if told.elapsed() > TELL {
            told = Instant::now();
            say(format!(
                "{} open, {} owing, {} strays, {} missing",
                survey.open,
                survey.owing,
                survey.strays.len(),
                survey.missing.len()
            ));
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn look(dock: &Dock) -> Result<Survey> {
    let mut survey = Survey::default();
    let mut wanted = BTreeSet::new();
    for (_, pool) in &dock.shards {
        let open = "select count(*) from shard.file where status in ('uploading', 'validating')";
        let open: i64 = sqlx::query_scalar(open)
            .fetch_one(pool)
            .await
            .during("counting files")?;
        survey.open += usize::try_from(open).unwrap_or_default();
        let owing = "select (select count(*) from shard.file
                where staged and status in ('ready', 'failed', 'expired'))
            + (select count(*) from shard.object where gone_at is not null)";
        let owing: i64 = sqlx::query_scalar(owing)
            .fetch_one(pool)
            .await
            .during("counting debts")?;
        survey.owing += usize::try_from(owing).unwrap_or_default();
        let live = "select id from shard.object where gone_at is null";
        let live: Vec<Uuid> = sqlx::query_scalar(live)
            .fetch_all(pool)
            .await
            .during("reading objects")?;
        wanted.extend(live.into_iter().map(|id| id.simple().to_string()));
    }
    let mut there = BTreeSet::new();
    for key in dock.objects.bucket.keys().await? {
        let name = key.rsplit('/').next().unwrap_or_default();
        if key.starts_with("files/") && wanted.contains(name) {
            there.insert(name.to_owned());
        } else if key.starts_with(PROBES) {
            survey.probes += 1;
        } else if key != "owner" && !key.starts_with(MARKERS) {
            survey.strays.push(key);
        }
    }
    survey.missing = wanted.difference(&there).cloned().collect();
    survey.objects = there.len();
    let uploads = dock.objects.bucket.uploads().await?;
    let uploads = uploads
        .into_iter()
        .filter(|open| !open.key.starts_with(PROBES))
        .map(|open| format!("upload {} of {}", open.upload, open.key));
    survey.strays.extend(uploads);
    Ok(survey)
}
