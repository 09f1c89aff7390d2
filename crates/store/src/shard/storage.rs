//! How much each organization stores. Every transaction that changes it locks this row first, so
//! that the counts are exact and no quota is exceeded.

use std::collections::BTreeMap;

use domain::id::OrganizationId;
use domain::storage_quota::StorageUsage;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;

/// What an organization stores now, without a lock.
pub async fn find(shard: &Shard, organization: OrganizationId) -> Result<StorageUsage, Error> {
    let row = sqlx::query!(
        "select files, bytes from shard.storage where organization = $1",
        organization.uuid()
    )
    .fetch_optional(&shard.pool)
    .await?;
    row.map_or(Ok(StorageUsage::default()), |row| {
        stored_from_row(row.files, row.bytes)
    })
}

/// Locks an organization's row, which is created with its first file.
pub(crate) async fn lock(tx: &mut Transaction, organization: Uuid) -> Result<StorageUsage, Error> {
    let row = sqlx::query!(
        "insert into shard.storage (organization) values ($1)
         on conflict (organization) do update set files = storage.files
         returning files, bytes",
        organization
    )
    .fetch_one(&mut **tx)
    .await?;
    stored_from_row(row.files, row.bytes)
}

/// Locks the rows of the organizations that own these files. A file's owner never changes, so it
/// can be read before anything is locked.
pub(crate) async fn lock_owners(tx: &mut Transaction, files: &[Uuid]) -> Result<(), Error> {
    sqlx::query!(
        "select organization from shard.storage
         where organization in (select organization from shard.file where id = any($1))
         order by organization for no key update",
        files
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(())
}

/// The changes of organizations' counts.
#[derive(Debug, Default)]
pub(crate) struct StorageChange {
    by: BTreeMap<Uuid, (i64, i64)>,
}

impl StorageChange {
    pub(crate) fn of(organization: Uuid, files: i64, bytes: i64) -> Self {
        let mut change = Self::default();
        change.add(organization, files, bytes);
        change
    }

    pub(crate) fn add(&mut self, organization: Uuid, files: i64, bytes: i64) {
        let by = self.by.entry(organization).or_default();
        by.0 += files;
        by.1 += bytes;
    }

    /// Writes the changes to rows that this transaction has locked.
    pub(crate) async fn write(self, tx: &mut Transaction) -> Result<(), Error> {
        if self.by.is_empty() {
            return Ok(());
        }
        let organizations: Vec<Uuid> = self.by.keys().copied().collect();
        let (files, bytes): (Vec<i64>, Vec<i64>) = self.by.into_values().unzip();
        sqlx::query!(
            "update shard.storage s set files = s.files + by.files, bytes = s.bytes + by.bytes
             from unnest($1::uuid[], $2::bigint[], $3::bigint[]) as by (organization, files, bytes)
             where s.organization = by.organization",
            &organizations,
            &files,
            &bytes
        )
        .execute(&mut **tx)
        .await?;
        Ok(())
    }
}

fn stored_from_row(files: i64, bytes: i64) -> Result<StorageUsage, Error> {
    let unsigned = |count: i64, column| {
        u64::try_from(count).map_err(|_| Error::Corrupt {
            table: "storage",
            column,
        })
    };
    Ok(StorageUsage {
        files: unsigned(files, "files")?,
        bytes: unsigned(bytes, "bytes")?,
    })
}
