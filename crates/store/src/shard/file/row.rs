//! The row of a file.

use domain::file::{
    FileDeclaration, FileFailureReason, FileKind, FileStatus, MediaType, ScanStatus, Sha256,
};
use domain::id::{FileId, OrganizationId, ProjectId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::encryption::{ContentKind, KeyRequest, ReadKeys, ValueIdentity};
use crate::shard::project_keys::read_keys;

/// The name of a file whose project was erased.
const ERASED_FILENAME: &str = "erased";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    pub id: FileId,
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub status: FileStatus,
    pub kind: FileKind,
    pub media_type: MediaType,
    pub filename: String,
    pub size_bytes: u64,
    pub sha256: Sha256,
    pub scan_status: ScanStatus,
    pub failure_reason: Option<FileFailureReason>,
    pub ttl_seconds: u32,
    /// Set when the file is ready.
    pub expires_at: Option<Timestamp>,
    pub pinned: bool,
    /// How many open cargo reference it.
    pub refs: u64,
    /// JSON, as the caller sent it.
    pub metadata: Option<Vec<u8>>,
    pub created_at: Timestamp,
    /// The object store's id of the multipart upload, once there is one.
    pub upload: Option<String>,
    /// Declared at creation, in the order of the parts.
    pub part_checksums: Option<Vec<Sha256>>,
    /// The object with its bytes, while it is ready.
    pub object: Option<FileId>,
    /// Staging may still have some of its bytes.
    pub staged: bool,
}

impl FileRow {
    pub const fn declared(&self) -> FileDeclaration {
        FileDeclaration {
            media_type: self.media_type,
            size_bytes: self.size_bytes,
            sha256: self.sha256,
        }
    }
}

/// A part of a multipart upload, as the caller listed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadPart {
    pub etag: String,
    pub checksum: Option<Sha256>,
}

/// A file that this node has claimed for the scan.
#[derive(Debug, Clone)]
pub struct ClaimedFile {
    pub file: FileRow,
    /// Of a multipart upload.
    pub parts: Option<Vec<UploadPart>>,
    pub completed_at: Timestamp,
    /// How often the scanner gave no verdict.
    pub tries: u32,
    /// How often a node died while it had claimed the file.
    pub takeovers: u32,
}

pub(super) struct Row {
    pub(super) id: Uuid,
    pub(super) organization: Uuid,
    pub(super) project: Uuid,
    pub(super) status: String,
    pub(super) media_type: String,
    pub(super) filename: String,
    pub(super) filename_encrypted: Option<Vec<u8>>,
    pub(super) size_bytes: i64,
    pub(super) sha256: Vec<u8>,
    pub(super) scan_status: String,
    pub(super) failure_reason: Option<String>,
    pub(super) ttl_seconds: i32,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) pinned: bool,
    pub(super) refs: i32,
    pub(super) metadata: Option<Vec<u8>>,
    pub(super) created_at: Timestamp,
    pub(super) upload: Option<String>,
    pub(super) part_checksums: Option<Vec<Vec<u8>>>,
    pub(super) etags: Option<Vec<String>>,
    pub(super) checksums: Option<Vec<Option<Vec<u8>>>>,
    pub(super) staged: bool,
    pub(super) object: Option<Uuid>,
    pub(super) completed_at: Option<Timestamp>,
    pub(super) tries: i32,
    pub(super) takeovers: i32,
}

/// Complete rows of files, newest first. The literal selects the rows, as `f`.
macro_rules! files {
    ($f:literal $(+ $more:literal)* $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            crate::shard::file::row::Row,
            "with recursive "
                + $f
                $(+ $more)*
                + r#"
               select f.id as "id!", f.organization as "organization!", f.project as "project!",
                   f.status as "status!", f.media_type as "media_type!", f.filename as "filename!",
                   f.filename_encrypted,
                   f.size_bytes as "size_bytes!", f.sha256 as "sha256!", f.scan_status as "scan_status!",
                   f.failure_reason, f.ttl_seconds as "ttl_seconds!", f.expires_at,
                   f.pinned as "pinned!", f.refs as "refs!", f.metadata, f.created_at as "created_at!",
                   f.upload, f.part_checksums, f.etags,
                   f.checksums as "checksums: Vec<Option<Vec<u8>>>", f.staged as "staged!", f.object,
                   f.completed_at, f.tries as "tries!", f.takeovers as "takeovers!"
               from f order by f.id desc"#
            $(, $argument)*
        )
    };
}
pub(super) use files;

/// The files of some rows, decrypted. Never in a transaction: the master key may take long.
pub(super) async fn read_files(shard: &Shard, rows: Vec<Row>) -> Result<Vec<FileRow>, Error> {
    let mut request = KeyRequest::default();
    for row in &rows {
        let project = row.project.into();
        request.add(project, row.filename_encrypted.as_deref());
        request.add(project, row.metadata.as_deref());
    }
    let keys = read_keys(shard, &request).await?;
    let files = rows.into_iter();
    let files = files.map(|row| FileRow::try_from(row.decrypt(&keys)?));
    files.collect()
}

/// The file of one row, if there is one.
pub(super) async fn read_file(shard: &Shard, row: Option<Row>) -> Result<Option<FileRow>, Error> {
    let mut files = read_files(shard, row.into_iter().collect()).await?;
    Ok(files.pop())
}

impl Row {
    fn decrypt(mut self, keys: &ReadKeys) -> Result<Self, Error> {
        let (project, row) = (self.project.into(), self.id);
        let identity = |kind| ValueIdentity { project, row, kind };
        // An erased project still has to end its files.
        let is_readable = |value: &Vec<u8>| !keys.is_destroyed(project, value);
        if let Some(name) = self.filename_encrypted.take() {
            self.filename = if is_readable(&name) {
                keys.decrypt_to_text(identity(ContentKind::Filename), name)?
            } else {
                ERASED_FILENAME.to_owned()
            };
        }
        let metadata = self.metadata.take().filter(is_readable);
        self.metadata = keys.decrypt_json(identity(ContentKind::FileMetadata), metadata)?;
        Ok(self)
    }
}

/// Name and metadata are not decrypted.
impl TryFrom<Row> for FileRow {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let media_type = MediaType::parse(&row.media_type).ok_or_else(corrupt("media_type"))?;
        let flaw = row.failure_reason.as_deref();
        let flaw =
            flaw.map(|flaw| FileFailureReason::parse(flaw).ok_or_else(corrupt("failure_reason")));
        let part_checksums = row.part_checksums.map(|sums| {
            let sums = sums.into_iter();
            sums.map(|sum| digest(sum, "part_checksums")).collect()
        });
        Ok(Self {
            id: row.id.into(),
            organization: row.organization.into(),
            project: row.project.into(),
            status: FileStatus::parse(&row.status).ok_or_else(corrupt("status"))?,
            kind: media_type.kind(),
            media_type,
            filename: row.filename,
            size_bytes: u64::try_from(row.size_bytes).map_err(|_| corrupt("size_bytes")())?,
            sha256: digest(row.sha256, "sha256")?,
            scan_status: ScanStatus::parse(&row.scan_status).ok_or_else(corrupt("scan_status"))?,
            failure_reason: flaw.transpose()?,
            ttl_seconds: count(row.ttl_seconds, "ttl_seconds")?,
            expires_at: row.expires_at,
            pinned: row.pinned,
            refs: count(row.refs, "refs")?.into(),
            metadata: row.metadata,
            created_at: row.created_at,
            upload: row.upload,
            part_checksums: part_checksums.transpose()?,
            object: row.object.map(FileId::from_uuid),
            staged: row.staged,
        })
    }
}

impl TryFrom<Row> for ClaimedFile {
    type Error = Error;

    fn try_from(mut row: Row) -> Result<Self, Error> {
        let (etags, checksums) = (row.etags.take(), row.checksums.take());
        let parts = etags.map(|etags| {
            let checksums = checksums.unwrap_or_default().into_iter();
            let parts = etags
                .into_iter()
                .zip(checksums.chain(std::iter::repeat(None)));
            parts.map(read_part).collect()
        });
        Ok(Self {
            parts: parts.transpose()?,
            completed_at: row.completed_at.ok_or_else(corrupt("completed_at"))?,
            tries: count(row.tries, "tries")?,
            takeovers: count(row.takeovers, "takeovers")?,
            file: row.try_into()?,
        })
    }
}

fn read_part((etag, checksum): (String, Option<Vec<u8>>)) -> Result<UploadPart, Error> {
    let checksum = checksum.map(|sum| digest(sum, "checksums")).transpose()?;
    Ok(UploadPart { etag, checksum })
}

fn digest(bytes: Vec<u8>, column: &'static str) -> Result<Sha256, Error> {
    let bytes = bytes.try_into().map_err(|_| corrupt(column)())?;
    Ok(Sha256(bytes))
}

fn count(count: i32, column: &'static str) -> Result<u32, Error> {
    u32::try_from(count).map_err(|_| corrupt(column)())
}

pub(super) fn corrupt(column: &'static str) -> impl FnOnce() -> Error {
    let table = "file";
    move || Error::Corrupt { table, column }
}
