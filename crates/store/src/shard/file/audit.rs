//! The file audit: checks every invariant of files and objects, and reports each row that breaks
//! one.
//!
//! Nothing is changed. It reads every file, every object and all cargo that is not dropped yet, so
//! it is for operators and trials, not for every minute.

use std::fmt;

use domain::id::{FileId, OrganizationId};
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::shard::ledger_audit::prepare_full_check;

/// What must always be true of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileInvariant {
    References,
    Files,
    Bytes,
    Storage,
}

impl FileInvariant {
    pub const ALL: [Self; 4] = [Self::References, Self::Files, Self::Bytes, Self::Storage];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::References => "references",
            Self::Files => "files",
            Self::Bytes => "bytes",
            Self::Storage => "storage",
        }
    }

    /// The invariant as a sentence, for the report of a fault.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::References => "a file counts the open cargo that name it",
            Self::Files => "an object counts the ready files whose bytes it is",
            Self::Bytes => "a ready file has an object of its project with the bytes it declared",
            Self::Storage => {
                "an organization stores its open sessions as declared and every object once"
            }
        }
    }
}

/// One broken invariant: ids and counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFault {
    pub invariant: FileInvariant,
    pub organization: Option<OrganizationId>,
    /// The file, or the object: it has the id of the file that was uploaded first.
    pub file: Option<FileId>,
    pub expected: String,
    pub found: String,
}

/// One line: `references: org_… file_… expected 1, found 2; a file counts …`.
impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.invariant.as_str())?;
        if let Some(organization) = self.organization {
            write!(f, " {organization}")?;
        }
        if let Some(file) = self.file {
            write!(f, " {file}")?;
        }
        let (expected, found) = (&self.expected, &self.found);
        let sentence = self.invariant.sentence();
        write!(f, " expected {expected}, found {found}; {sentence}")
    }
}

/// Checks every invariant over all rows, in one snapshot. Reports at most a hundred faults of each.
pub async fn check(shard: &Shard) -> Result<Vec<FileFault>, Error> {
    let mut tx = shard.background.begin().await?;
    prepare_full_check(&mut tx).await?;
    let mut faults = check_references(&mut tx).await?;
    faults.extend(check_files(&mut tx).await?);
    faults.extend(check_bytes(&mut tx).await?);
    faults.extend(check_storage(&mut tx).await?);
    tx.rollback().await?;
    Ok(faults)
}

/// The columns that every check returns.
struct Row {
    organization: Option<Uuid>,
    file: Option<Uuid>,
    expected: Option<String>,
    found: Option<String>,
}

fn faults_from_rows(identity: FileInvariant, rows: Vec<Row>) -> Vec<FileFault> {
    let nothing = || "nothing".to_owned();
    let faults = rows.into_iter().map(|row| FileFault {
        invariant: identity,
        organization: row.organization.map(Into::into),
        file: row.file.map(Into::into),
        expected: row.expected.unwrap_or_else(nothing),
        found: row.found.unwrap_or_else(nothing),
    });
    faults.collect()
}

async fn check_references(tx: &mut Transaction) -> Result<Vec<FileFault>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"with named as (
               select item.file, count(*) as open
               from shard.cargo c cross join unnest(c.files) as item (file)
               where c.completed_at is null and c.files is not null
               group by item.file
           )
           select f.organization as "organization?", coalesce(f.id, n.file) as file,
               coalesce(n.open, 0)::text as expected, f.refs::text as found
           from shard.file f full join named n on n.file = f.id
           where coalesce(n.open, 0) is distinct from f.refs
           limit 100"#
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(faults_from_rows(FileInvariant::References, rows))
}

async fn check_files(tx: &mut Transaction) -> Result<Vec<FileFault>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"with ready as (
               select object, count(*) as files from shard.file where object is not null
               group by object
           )
           select o.organization as "organization?", coalesce(o.id, r.object) as file,
               coalesce(r.files, 0)::text as expected, o.files::text as found
           from shard.object o full join ready r on r.object = o.id
           where coalesce(r.files, 0) is distinct from o.files
           limit 100"#
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(faults_from_rows(FileInvariant::Files, rows))
}

async fn check_bytes(tx: &mut Transaction) -> Result<Vec<FileFault>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"select f.organization as "organization?", f.id as "file?", 'its bytes' as expected,
               case when o.id is null then 'no object' when o.gone_at is not null then 'a gone object'
                   else 'other bytes' end as found
           from shard.file f left join shard.object o on o.id = f.object
           where f.status = 'ready' and (o.gone_at is not null
               or (o.organization, o.project, o.sha256, o.size_bytes, o.media_type)
                   is distinct from (f.organization, f.project, f.sha256, f.size_bytes, f.media_type))
           limit 100"#
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(faults_from_rows(FileInvariant::Bytes, rows))
}

async fn check_storage(tx: &mut Transaction) -> Result<Vec<FileFault>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"with part as (
               select organization, count(*) as files,
                   coalesce(sum(size_bytes) filter (where status <> 'ready'), 0) as bytes
               from shard.file where status in ('uploading', 'validating', 'ready')
               group by organization
               union all
               select organization, 0, sum(size_bytes) from shard.object where gone_at is null
               group by organization
           ), whole as (
               select organization, sum(files) as files, sum(bytes) as bytes from part
               group by organization
           )
           select coalesce(s.organization, w.organization) as organization, null::uuid as file,
               coalesce(w.files, 0) || ' files, ' || coalesce(w.bytes, 0) || ' bytes' as expected,
               coalesce(s.files, 0) || ' files, ' || coalesce(s.bytes, 0) || ' bytes' as found
           from shard.storage s full join whole w on w.organization = s.organization
           where (coalesce(s.files, 0), coalesce(s.bytes, 0))
               is distinct from (coalesce(w.files, 0), coalesce(w.bytes, 0))
           limit 100"#
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(faults_from_rows(FileInvariant::Storage, rows))
}
