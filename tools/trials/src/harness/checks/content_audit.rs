//! Downloads and hashes every ready file; recounts the stored bytes.

use futures::stream::{self, StreamExt as _};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::harness::environment::databases;
use crate::harness::{FilesEnvironment, Result, TrialVerdict, report_progress};

const MAX_CONCURRENT_DOWNLOADS: usize = 8;

#[derive(Debug)]
pub struct FilesAudit {
    ready: usize,
    /// Files whose downloaded bytes differ from the declared ones.
    wrong: Vec<String>,
    /// Organizations whose stored counts differ from their rows.
    miscounted: Vec<String>,
    is_clean: bool,
    /// The output of `admin files check`.
    report: Value,
}

impl FilesAudit {
    pub fn judge(&self, verdict: &mut TrialVerdict) {
        verdict
            .record("ready", self.ready)
            .record("files_check", self.report.clone())
            .check("some files are ready", self.ready > 0)
            .check_none(
                "every ready file has the declared bytes",
                "wrong_bytes",
                &self.wrong,
            )
            .check_none(
                "the stored counts equal the sums of the rows",
                "miscounted",
                &self.miscounted,
            )
            .check("admin files check finds nothing", self.is_clean);
    }
}

#[derive(Debug, sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization: Uuid,
    sha256: Vec<u8>,
    size_bytes: i64,
}

pub async fn audit_files(environment: &FilesEnvironment) -> Result<FilesAudit> {
    let rows = read_ready_files(environment).await?;
    report_progress(format!("downloading {} files", rows.len()));
    let wrong: Vec<String> = stream::iter(&rows)
        .map(|row| check_content(environment, row))
        .buffer_unordered(MAX_CONCURRENT_DOWNLOADS)
        .filter_map(|complaint| async { complaint })
        .collect()
        .await;
    let checked = environment
        .service
        .longshored
        .run_to_end(&["admin", "files", "check", "--json"])
        .await?;
    let report = serde_json::from_str(&checked.stdout)
        .unwrap_or_else(|_| json!(format!("{}{}", checked.stdout, checked.stderr)));
    Ok(FilesAudit {
        ready: rows.len(),
        wrong,
        miscounted: find_miscounted(environment).await?,
        is_clean: checked.status.success(),
        report,
    })
}

async fn read_ready_files(environment: &FilesEnvironment) -> Result<Vec<Row>> {
    let query = "select id, organization, sha256, size_bytes from shard.file
        where status = 'ready'";
    databases::fetch_rows(&environment.service.shards, query).await
}

/// What is wrong with a file's bytes, as its caller downloads them.
async fn check_content(environment: &FilesEnvironment, row: &Row) -> Option<String> {
    let organization = row.organization.simple().to_string();
    let mut callers = environment
        .service
        .callers
        .organizations
        .iter()
        .zip(&environment.clients);
    let (_, caller) = callers.find(|(it, _)| it.id.ends_with(&organization))?;
    let id = format!("file_{}", row.id.simple());
    let response = caller.fetch_content(&id).await;
    if response.status != 200 {
        return Some(format!("{id}: {}", response.summary()));
    }
    let expected = (hex::encode(&row.sha256), u64::try_from(row.size_bytes).ok());
    match caller
        .http
        .fetch_digest(response.string_field("download_url"))
        .await
    {
        Ok((200, digest)) => {
            let length = digest.length;
            let found = (digest.finish_hex(), Some(length));
            (found != expected).then(|| format!("{id}: {found:?} instead of {expected:?}"))
        }
        Ok((status, _)) => Some(format!("{id}: the store answered {status}")),
        Err(lost) => Some(format!("{id}: {lost}")),
    }
}

/// Organizations whose counts in `storage` differ from the sums of their rows.
async fn find_miscounted(environment: &FilesEnvironment) -> Result<Vec<String>> {
    let query = "
        select format('%s: %s files and %s bytes, but %s and %s', organization,
            coalesce(storage.files, 0), coalesce(storage.bytes, 0),
            coalesce(file.files, 0), coalesce(file.bytes, 0) + coalesce(object.bytes, 0))
        from shard.storage
        full join (
            select organization, count(*) as files,
                coalesce(sum(size_bytes) filter (where status <> 'ready'), 0) as bytes
            from shard.file where status in ('uploading', 'validating', 'ready')
            group by organization) file using (organization)
        full join (
            select organization, sum(size_bytes) as bytes from shard.object
            where gone_at is null group by organization) object using (organization)
        where coalesce(storage.files, 0) <> coalesce(file.files, 0)
           or coalesce(storage.bytes, 0) <> coalesce(file.bytes, 0) + coalesce(object.bytes, 0)";
    let found: Vec<(String,)> = databases::fetch_rows(&environment.service.shards, query).await?;
    Ok(found.into_iter().map(|(text,)| text).collect())
}
