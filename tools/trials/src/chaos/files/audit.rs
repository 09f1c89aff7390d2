//! Every ready file is downloaded and hashed; what is stored is counted anew.

use futures::stream::{self, StreamExt as _};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::dock::Dock;
use crate::failure::{During as _, Result};
use crate::progress::say;
use crate::verdict::Verdict;

const AT_ONCE: usize = 8;

#[derive(Debug)]
pub struct Audit {
    ready: usize,
    /// What was downloaded and is not what was declared, in words.
    wrong: Vec<String>,
    /// Organizations whose counts are not what their files come to.
    miscounted: Vec<String>,
    is_clean: bool,
    /// What `admin files check` printed.
    report: Value,
}

impl Audit {
    pub fn judge(&self, verdict: &mut Verdict) {
        let some: Vec<&String> = self.wrong.iter().take(10).collect();
        verdict
            .note("ready", self.ready)
            .note("files_check", self.report.clone())
            .promise("some files are ready", self.ready > 0)
            .promise(
                "every ready file has the declared bytes",
                self.wrong.is_empty(),
            )
            .promise("storage is counted exactly", self.miscounted.is_empty())
            .promise("admin files check finds nothing", self.is_clean);
        if !self.wrong.is_empty() {
            verdict.note("wrong_bytes", json!(some));
        }
        if !self.miscounted.is_empty() {
            verdict.note("miscounted", json!(self.miscounted));
        }
    }
}

/// A ready file by its row.
#[derive(Debug, sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization: Uuid,
    sha256: Vec<u8>,
    size_bytes: i64,
}

pub async fn audit(dock: &Dock) -> Result<Audit> {
    let rows = ready(dock).await?;
    say(format!("downloading {} files", rows.len()));
    let wrong: Vec<String> = stream::iter(&rows)
        .map(|row| complaint(dock, row))
        .buffer_unordered(AT_ONCE)
        .filter_map(|complaint| async { complaint })
        .collect()
        .await;
    let checked = dock
        .longshored
        .finish(&["admin", "files", "check", "--json"])
        .await?;
    let report = serde_json::from_str(&checked.output)
        .unwrap_or_else(|_| json!(format!("{}{}", checked.output, checked.complaint)));
    Ok(Audit {
        ready: rows.len(),
        wrong,
        miscounted: miscounted(dock).await?,
        is_clean: checked.status.success(),
        report,
    })
}

async fn ready(dock: &Dock) -> Result<Vec<Row>> {
    let query = "select id, organization, sha256, size_bytes from shard.file
        where status = 'ready'";
    let mut rows = Vec::new();
    for (_, pool) in &dock.shards {
        let here = sqlx::query_as_with(query, sqlx::postgres::PgArguments::default());
        let here: Vec<Row> = here.fetch_all(pool).await.during("reading ready files")?;
        rows.extend(here);
    }
    Ok(rows)
}

/// What is wrong with a file's bytes, as its caller gets them.
async fn complaint(dock: &Dock, row: &Row) -> Option<String> {
    let organization = row.organization.simple().to_string();
    let mut callers = dock.organizations.iter().zip(&dock.callers);
    let (_, caller) = callers.find(|(it, _)| it.id.ends_with(&organization))?;
    let id = format!("file_{}", row.id.simple());
    let said = caller.content(&id).await;
    if said.status != 200 {
        return Some(format!("{id}: {}", said.line()));
    }
    let expected = (hex::encode(&row.sha256), u64::try_from(row.size_bytes).ok());
    match caller.web.digest(said.text("download_url")).await {
        Ok((200, digest)) => {
            let length = digest.length;
            let found = (digest.hex(), Some(length));
            (found != expected).then(|| format!("{id}: {found:?} instead of {expected:?}"))
        }
        Ok((status, _)) => Some(format!("{id}: the store answered {status}")),
        Err(lost) => Some(format!("{id}: {lost}")),
    }
}

/// The counts that are kept, beside what the rows come to.
async fn miscounted(dock: &Dock) -> Result<Vec<String>> {
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
    let mut told = Vec::new();
    for (_, pool) in &dock.shards {
        let here: Vec<String> = sqlx::query_scalar(query)
            .fetch_all(pool)
            .await
            .during("counting what is stored")?;
        told.extend(here);
    }
    Ok(told)
}
