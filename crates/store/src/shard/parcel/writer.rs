//! Writes a parcel block by block, while its body arrives.

use std::sync::Arc;

use domain::dropin::Facade;
use domain::id::{OrganizationId, ParcelId, ProjectId};
use domain::time::Timestamp;
use tokio::runtime::Handle;

use crate::Error;
use crate::Shard;
use crate::body;
use crate::encryption::{ContentKind, ValueIdentity};
use crate::number::signed;
use crate::shard::parcel::ParcelRow;
use crate::shard::parcel::block::{begin_block, push_item};
use crate::shard::parcel::expire::expire_at;
use crate::shard::project_keys::write_keys;

/// A block is written when its items have this size. A larger item makes a larger block.
const BLOCK_BYTES: usize = 1 << 20;

#[derive(Debug, Clone)]
pub struct NewParcel {
    pub id: ParcelId,
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub facade: Facade,
    pub filename: Option<String>,
    /// A parcel that is not completed is deleted then, too.
    pub expires_at: Timestamp,
}

/// A parcel that is being written. It does not count until it is finished. One that is dropped
/// before expires at once.
#[derive(Debug)]
pub struct ParcelWriter {
    shard: Arc<Shard>,
    unfinished: UnfinishedParcel,
    parcel: ParcelRow,
    /// The number of the next block, and its items so far.
    block: i32,
    pending: Vec<u8>,
    pending_first: u64,
}

impl ParcelWriter {
    /// Stores the row of the parcel.
    pub async fn begin(shard: Arc<Shard>, new: NewParcel, now: Timestamp) -> Result<Self, Error> {
        let parcel = ParcelRow {
            id: new.id,
            organization: new.organization,
            project: new.project,
            facade: new.facade,
            filename: new.filename,
            created_at: now,
            expires_at: new.expires_at,
            items: 0,
            bytes: 0,
        };
        insert_parcel(&shard, &parcel).await?;
        Ok(Self {
            unfinished: UnfinishedParcel {
                shard: Arc::clone(&shard),
                project: parcel.project,
                parcel: Some(parcel.id),
            },
            shard,
            parcel,
            block: 0,
            pending: begin_block(0),
            pending_first: 0,
        })
    }

    /// How many items and bytes it has so far.
    pub const fn parcel(&self) -> &ParcelRow {
        &self.parcel
    }

    pub async fn push(&mut self, item: &[u8]) -> Result<(), Error> {
        push_item(&mut self.pending, item);
        self.parcel.items += 1;
        self.parcel.bytes += item.len() as u64;
        if self.pending.len() >= BLOCK_BYTES {
            self.write_block().await?;
        }
        Ok(())
    }

    /// Stores the last block and completes the parcel.
    pub async fn finish(mut self, now: Timestamp) -> Result<ParcelRow, Error> {
        if self.pending_first < self.parcel.items {
            self.write_block().await?;
        }
        let completed = sqlx::query!(
            "update shard.parcel set completed_at = $2, items = $3, bytes = $4
             where id = $1 and completed_at is null and expires_at > $2",
            self.parcel.id.uuid(),
            now,
            signed(self.parcel.items),
            signed(self.parcel.bytes)
        )
        .execute(&self.shard.pool)
        .await?;
        if completed.rows_affected() == 0 {
            // Sweep deletes it: the body took longer than the parcel was kept.
            return Err(Error::Fenced);
        }
        self.unfinished.parcel = None;
        Ok(self.parcel)
    }

    async fn write_block(&mut self) -> Result<(), Error> {
        let next = begin_block(self.parcel.items);
        let plain = std::mem::replace(&mut self.pending, next);
        let project = self.parcel.project;
        let keys = write_keys(&self.shard, [(project, 1)]).await?;
        let identity = ValueIdentity {
            project,
            row: self.parcel.id.uuid(),
            kind: ContentKind::ParcelBlock,
        };
        let packed = body::pack(&plain).encrypt(keys.find(project)?, identity)?;
        drop(plain);
        // The bytes of a body that arrives count for the quota.
        sqlx::query!(
            "with counted as (update shard.parcel set bytes = $6 where id = $1)
             insert into shard.parcel_block (parcel, block, first_item, codec, body)
             values ($1, $2, $3, $4, $5)",
            self.parcel.id.uuid(),
            self.block,
            signed(self.pending_first),
            packed.codec,
            packed.bytes,
            signed(self.parcel.bytes)
        )
        .execute(&self.shard.background)
        .await?;
        self.block += 1;
        self.pending_first = self.parcel.items;
        Ok(())
    }
}

/// Lets a parcel expire when it is dropped: its body was refused or broke off.
#[derive(Debug)]
struct UnfinishedParcel {
    shard: Arc<Shard>,
    project: ProjectId,
    /// None: it is finished.
    parcel: Option<ParcelId>,
}

impl Drop for UnfinishedParcel {
    fn drop(&mut self) {
        let (Some(parcel), Ok(runtime)) = (self.parcel, Handle::try_current()) else {
            return;
        };
        let (shard, project) = (Arc::clone(&self.shard), self.project);
        runtime.spawn(async move {
            let now = shard.clock.now();
            // If this fails, it expires at its own time.
            let _expired = expire_at(&shard, project, parcel, now).await;
        });
    }
}

async fn insert_parcel(shard: &Shard, parcel: &ParcelRow) -> Result<(), Error> {
    let (project, row) = (parcel.project, parcel.id.uuid());
    let keys = write_keys(shard, [(project, 1)]).await?;
    let identity = ValueIdentity {
        project,
        row,
        kind: ContentKind::ParcelFilename,
    };
    let filename = parcel.filename.clone();
    let key = keys.find(project)?;
    let filename = filename.map(|text| key.encrypt_text(identity, text));
    sqlx::query!(
        "insert into shard.parcel (id, organization, project, facade, filename, created_at,
             expires_at)
         values ($1, $2, $3, $4, $5, $6, $7)",
        row,
        parcel.organization.uuid(),
        project.uuid(),
        parcel.facade.code(),
        filename.transpose()?,
        parcel.created_at,
        parcel.expires_at
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}
