//! The state of encryption on a shard, for operators.

use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::number::unsigned;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncryptionStatus {
    /// None: new values are not encrypted.
    pub enabled_at: Option<Timestamp>,
    /// Projects with a data key.
    pub projects: u64,
    /// Projects whose keys were destroyed.
    pub erased_projects: u64,
    /// Of every master key that wraps a data key, in the order of their ids.
    pub master_keys: Vec<MasterKeyUse>,
}

/// How many data keys a master key wraps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MasterKeyUse {
    pub id: String,
    pub data_keys: u64,
    /// One of them.
    pub sample: Vec<u8>,
}

pub async fn read_status(shard: &Shard) -> Result<EncryptionStatus, Error> {
    let row = sqlx::query!(
        r#"select (select enabled_at from shard.encryption) as enabled_at,
               count(distinct project) filter (where wrapped is not null) as "projects!",
               count(distinct project) filter (where wrapped is null) as "erased!"
           from shard.data_key"#
    )
    .fetch_one(&shard.pool)
    .await?;
    let uses = sqlx::query!(
        r#"select master_key, count(*) as "count!",
               (array_agg(wrapped order by project, number))[1] as "sample!"
           from shard.data_key where wrapped is not null
           group by master_key order by master_key"#
    )
    .fetch_all(&shard.pool)
    .await?;
    let uses = uses.into_iter().map(|row| MasterKeyUse {
        id: row.master_key,
        data_keys: unsigned(row.count),
        sample: row.sample,
    });
    Ok(EncryptionStatus {
        enabled_at: row.enabled_at,
        projects: unsigned(row.projects),
        erased_projects: unsigned(row.erased),
        master_keys: uses.collect(),
    })
}
