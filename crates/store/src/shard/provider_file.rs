//! What providers still store of ended batches: their jobs, and the input that was uploaded for
//! them. Queued in the transaction that ends a batch, and deleted at the provider by sweep.

use domain::id::BatchId;
use domain::time::Timestamp;

use crate::Error;
use crate::Shard;
use crate::Transaction;

/// A job, an uploaded input, or both, to delete at a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderFileRow {
    pub id: i64,
    pub provider: String,
    pub job: Option<String>,
    pub upload: Option<String>,
    /// Counts this one.
    pub attempts: i32,
}

/// Queues the job and the upload of a batch that this transaction ends. The mock and realtime
/// requests have neither.
pub(crate) async fn queue_batch(
    tx: &mut Transaction,
    batch: BatchId,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query!(
        "insert into shard.provider_file (provider, job, upload, due_at)
         select l.provider, case when b.sent_at is not null then nullif(b.job, '') end,
             b.upload, $2
         from shard.batch b join shard.lane l on l.id = b.lane
         where b.id = $1 and (b.upload is not null or (b.sent_at is not null and b.job <> ''))",
        batch.uuid(),
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Queues the upload of a submission that the provider refused: the next one uploads again.
pub(crate) async fn queue_upload(
    tx: &mut Transaction,
    batch: BatchId,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query!(
        "insert into shard.provider_file (provider, upload, due_at)
         select l.provider, b.upload, $2
         from shard.batch b join shard.lane l on l.id = b.lane
         where b.id = $1 and b.upload is not null",
        batch.uuid(),
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Takes what is due; each is due again at `retry_at`, unless it is deleted before. Deleting twice
/// does no harm, so no claim is needed.
pub async fn take_due(
    shard: &Shard,
    most: i64,
    retry_at: Timestamp,
    now: Timestamp,
) -> Result<Vec<ProviderFileRow>, Error> {
    let due = sqlx::query_as!(
        ProviderFileRow,
        "update shard.provider_file f set due_at = $1, attempts = f.attempts + 1
         where f.id in (
             select id from shard.provider_file where due_at <= $2
             order by due_at limit $3 for update skip locked)
         returning f.id, f.provider, f.job, f.upload, f.attempts",
        retry_at,
        now,
        most
    )
    .fetch_all(&shard.pool)
    .await?;
    Ok(due)
}

/// The provider has deleted it, or never will.
pub async fn remove(shard: &Shard, id: i64) -> Result<(), Error> {
    sqlx::query!("delete from shard.provider_file where id = $1", id)
        .execute(&shard.pool)
        .await?;
    Ok(())
}
