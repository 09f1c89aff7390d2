//! A new file: an upload session, or ready at once if its bytes are stored already.

use domain::file::{FileDeclaration, Sha256, expires_at};
use domain::id::{FileId, OrganizationId, ProjectId};
use domain::storage_quota::{StorageQuota, StorageRefusal, admit_upload_session};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::encryption::{ContentKind, ValueIdentity, WriteKey};
use crate::number::signed;
use crate::shard::file::row::{FileRow, files};
use crate::shard::object;
use crate::shard::project_keys::write_keys;
use crate::shard::storage::{self, StorageChange};

#[derive(Debug, Clone)]
pub struct NewFile {
    pub id: FileId,
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub filename: String,
    pub declared: FileDeclaration,
    pub ttl_seconds: u32,
    pub metadata: Option<Vec<u8>>,
    /// In the order of the parts, if the caller declared them.
    pub part_checksums: Option<Vec<Sha256>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileCreation {
    /// The caller uploads the bytes next.
    Session(FileRow),
    /// The project has these bytes already, so the file is ready.
    Duplicate(FileRow),
    Refused(StorageRefusal),
}

/// How many values of a file are encrypted: its name and its metadata.
const ENCRYPTED_VALUES: u64 = 2;

/// Locks the organization's storage row, so that concurrent calls are counted one by one.
pub async fn create(
    shard: &Shard,
    new: &NewFile,
    quota: StorageQuota,
    now: Timestamp,
) -> Result<FileCreation, Error> {
    let keys = write_keys(shard, [(new.project, ENCRYPTED_VALUES)]).await?;
    let texts = FileTexts::of(new, keys.find(new.project)?)?;
    let mut tx = shard.begin().await?;
    let organization = new.organization.uuid();
    let stored = storage::lock(&mut tx, organization).await?;
    let object = object::find_for_deduplication(&mut tx, new.project.uuid(), &new.declared).await?;
    let bytes = match object {
        Some(_) => 0,
        None => new.declared.size_bytes,
    };
    let mut admitted = quota.admit(stored, bytes).map(|_| ());
    if object.is_none() {
        admitted =
            admit_upload_session(count_open_sessions(&mut tx, new.project).await?).and(admitted);
    }
    if let Err(refusal) = admitted {
        tx.rollback().await?;
        return Ok(FileCreation::Refused(refusal));
    }
    if let Some(object) = object {
        object::attach(&mut tx, object).await?;
    }
    let change = StorageChange::of(organization, 1, signed(bytes));
    change.write(&mut tx).await?;
    let file = insert(&mut tx, new, &texts, object, now).await?;
    tx.commit().await?;
    Ok(match object {
        Some(_) => FileCreation::Duplicate(file),
        None => FileCreation::Session(file),
    })
}

/// How many upload sessions a project has open. The limit keeps this number small.
async fn count_open_sessions(tx: &mut Transaction, project: ProjectId) -> Result<u64, Error> {
    let open = sqlx::query_scalar!(
        r#"select count(*) as "count!" from shard.file where project = $1 and status = 'uploading'"#,
        project.uuid()
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(u64::try_from(open).unwrap_or_default())
}

/// Name and metadata as they are stored.
struct FileTexts {
    filename: String,
    filename_encrypted: Option<Vec<u8>>,
    metadata: Option<Vec<u8>>,
}

impl FileTexts {
    fn of(new: &NewFile, key: &WriteKey) -> Result<Self, Error> {
        if key.is_plain() {
            return Ok(Self {
                filename: new.filename.clone(),
                filename_encrypted: None,
                metadata: new.metadata.clone(),
            });
        }
        let (project, row) = (new.project, new.id.uuid());
        let identity = |kind| ValueIdentity { project, row, kind };
        let name = new.filename.clone().into_bytes();
        let metadata = new.metadata.clone();
        let metadata = metadata.map(|it| key.encrypt(identity(ContentKind::FileMetadata), it));
        Ok(Self {
            filename: String::new(),
            filename_encrypted: Some(key.encrypt(identity(ContentKind::Filename), name)?),
            metadata: metadata.transpose()?,
        })
    }
}

async fn insert(
    tx: &mut Transaction,
    new: &NewFile,
    texts: &FileTexts,
    object: Option<Uuid>,
    now: Timestamp,
) -> Result<FileRow, Error> {
    let (status, scan_status) = match object {
        Some(_) => ("ready", "clean"),
        None => ("uploading", "pending"),
    };
    let checksums = new.part_checksums.as_ref();
    let checksums: Option<Vec<Vec<u8>>> =
        checksums.map(|sums| sums.iter().map(|sum| sum.0.to_vec()).collect());
    let row = files!(
        "f as (
             insert into shard.file (id, organization, project, status, kind, media_type, filename,
                 size_bytes, sha256, scan_status, ttl_seconds, expires_at, metadata, created_at,
                 part_checksums, staged, object, filename_encrypted)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
                 $18)
             returning *
         )",
        new.id.uuid(),
        new.organization.uuid(),
        new.project.uuid(),
        status,
        new.declared.media_type.kind().as_str(),
        new.declared.media_type.as_str(),
        texts.filename,
        signed(new.declared.size_bytes),
        &new.declared.sha256.0[..],
        scan_status,
        i32::try_from(new.ttl_seconds).unwrap_or(i32::MAX),
        object.map(|_| expires_at(now, new.ttl_seconds)),
        texts.metadata.as_deref(),
        now,
        checksums.as_deref(),
        object.is_none(),
        object,
        texts.filename_encrypted.as_deref()
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(FileRow {
        filename: new.filename.clone(),
        metadata: new.metadata.clone(),
        ..FileRow::try_from(row)?
    })
}

/// Records the object store's id of the multipart upload. False when the row has one already or is
/// no longer uploading: then the caller aborts this upload.
pub async fn record_upload(shard: &Shard, file: FileId, upload: &str) -> Result<bool, Error> {
    let kept = sqlx::query!(
        "update shard.file set upload = $2
         where id = $1 and status = 'uploading' and upload is null",
        file.uuid(),
        upload
    )
    .execute(&shard.pool)
    .await?;
    Ok(kept.rows_affected() == 1)
}
