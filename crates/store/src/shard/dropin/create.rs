//! A new batch with its group, or the batch that an earlier request created.

use domain::cargo_group::MAX_OPEN_GROUPS;
use domain::dropin::{Facade, IDEMPOTENCY_WINDOW, RETRY_WINDOW};
use domain::id::{ApiKeyId, GroupId, OrganizationId, ParcelId, ProjectId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::encryption::{ContentKind, ValueIdentity, WriteKey};
use crate::number::signed;
use crate::shard::dropin::find::find;
use crate::shard::dropin::row::DropinBatch;
use crate::shard::group;
use crate::shard::project_keys::write_keys;

#[derive(Debug, Clone)]
pub struct NewDropinBatch {
    /// The id of the batch, too.
    pub group: GroupId,
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub key: ApiKeyId,
    pub facade: Facade,
    /// A completed parcel.
    pub parcel: ParcelId,
    pub items: u64,
    /// The name of the group: the id in the words of the format.
    pub name: String,
    /// JSON: what the request sets for the whole batch.
    pub options: Option<Vec<u8>>,
    pub expires_at: Timestamp,
    /// JSON: why the batch failed before anything was loaded. It is created as failed then.
    pub failure: Option<Vec<u8>>,
    pub repeat: RepeatIdentity,
}

/// What tells a repeated request from a new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepeatIdentity {
    /// SHA-256 of the request.
    pub body_digest: [u8; 32],
    /// Of the header `Idempotency-Key`.
    pub idempotency_key: Option<String>,
    /// Whether the client says that it sends the request again.
    pub is_retry: bool,
    /// When the request began to arrive.
    pub started_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DropinCreation {
    Created(DropinBatch),
    /// The parcel has expired, or was deleted meanwhile.
    ParcelGone,
    /// An earlier request created it.
    Repeated(DropinBatch),
    /// The idempotency key was used with another body.
    KeyReused,
    /// The project has `MAX_OPEN_GROUPS` groups that are not completed.
    TooMany,
}

enum EarlierBatch {
    Same(GroupId),
    OtherBody,
}

/// How many values of a batch are encrypted: its options and its failure.
const ENCRYPTED_VALUES: u64 = 2;

/// Creates the group and the batch in one transaction, unless the request is a repeat.
///
/// Requests with the same body wait for each other. Concurrent calls may exceed the limit of open groups by
/// their number.
pub async fn create(
    shard: &Shard,
    new: &NewDropinBatch,
    now: Timestamp,
) -> Result<DropinCreation, Error> {
    let keys = write_keys(shard, [(new.project, ENCRYPTED_VALUES)]).await?;
    let key = keys.find(new.project)?;
    let digest = key.stored_digest(&new.repeat.body_digest);
    let texts = BatchTexts::of(new, key)?;
    let is_full = group::count_unfinished(shard, new.project).await? >= MAX_OPEN_GROUPS;
    let mut tx = shard.begin().await?;
    // The key always comes first, so two requests never wait for each other in a circle.
    if let Some(name) = &new.repeat.idempotency_key {
        lock_key(&mut tx, new.project, name).await?;
    }
    lock_body(&mut tx, new.project, &digest).await?;
    let earlier = find_earlier(&mut tx, new.project, new.facade, &digest, &new.repeat, now).await?;
    let group = match earlier {
        Some(EarlierBatch::OtherBody) => {
            tx.rollback().await?;
            return Ok(DropinCreation::KeyReused);
        }
        Some(EarlierBatch::Same(group)) => {
            tx.rollback().await?;
            let batch = find(shard, new.project, new.facade, group).await?;
            return batch.map(DropinCreation::Repeated).ok_or(Error::Fenced);
        }
        None if is_full => {
            tx.rollback().await?;
            return Ok(DropinCreation::TooMany);
        }
        None => new.group,
    };
    insert_group(&mut tx, new, now).await?;
    if !lock_parcel(&mut tx, new, now).await? {
        tx.rollback().await?;
        return Ok(DropinCreation::ParcelGone);
    }
    insert_batch(&mut tx, new, &digest, &texts, now).await?;
    tx.commit().await?;
    let batch = find(shard, new.project, new.facade, group).await?;
    batch.map(DropinCreation::Created).ok_or(Error::Fenced)
}

/// The batch that an earlier request with this identity created, read without a lock.
pub async fn find_repeat(
    shard: &Shard,
    project: ProjectId,
    facade: Facade,
    repeat: &RepeatIdentity,
    now: Timestamp,
) -> Result<Option<DropinCreation>, Error> {
    let keys = write_keys(shard, [(project, 0)]).await?;
    let digest = keys.find(project)?.stored_digest(&repeat.body_digest);
    let mut tx = shard.begin().await?;
    let earlier = find_earlier(&mut tx, project, facade, &digest, repeat, now).await?;
    tx.rollback().await?;
    Ok(match earlier {
        Some(EarlierBatch::OtherBody) => Some(DropinCreation::KeyReused),
        Some(EarlierBatch::Same(group)) => {
            let batch = find(shard, project, facade, group).await?;
            batch.map(DropinCreation::Repeated)
        }
        None => None,
    })
}

/// Options and failure as they are stored.
struct BatchTexts {
    options: Option<Vec<u8>>,
    failure: Option<Vec<u8>>,
}

impl BatchTexts {
    fn of(new: &NewDropinBatch, key: &WriteKey) -> Result<Self, Error> {
        let (project, row) = (new.project, new.group.uuid());
        let identity = |kind| ValueIdentity { project, row, kind };
        let options = new.options.clone();
        let options = options.map(|json| key.encrypt(identity(ContentKind::DropinOptions), json));
        let failure = new.failure.clone();
        let failure = failure.map(|json| key.encrypt(identity(ContentKind::DropinFailure), json));
        Ok(Self {
            options: options.transpose()?,
            failure: failure.transpose()?,
        })
    }
}

/// Until the end of the transaction, no other request of the project with this key is decided.
async fn lock_key(tx: &mut Transaction, project: ProjectId, key: &str) -> Result<(), Error> {
    sqlx::query!(
        r#"select pg_advisory_xact_lock(hashtextextended($1::uuid::text || ' key ' || $2::text, 0))
               ::text as "locked""#,
        project.uuid(),
        key
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(())
}

/// Until the end of the transaction, no other request of the project with this body is decided.
async fn lock_body(tx: &mut Transaction, project: ProjectId, digest: &[u8]) -> Result<(), Error> {
    sqlx::query!(
        r#"select pg_advisory_xact_lock(hashtextextended($1::uuid::text || encode($2, 'hex'), 0))
               ::text as "locked""#,
        project.uuid(),
        digest
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(())
}

/// A first request may arrive after its own retry: then it finds what the retry has created since
/// the request began. A batch that its caller deleted is repeated by nothing.
async fn find_earlier(
    tx: &mut Transaction,
    project: ProjectId,
    facade: Facade,
    digest: &[u8],
    repeat: &RepeatIdentity,
    now: Timestamp,
) -> Result<Option<EarlierBatch>, Error> {
    let row = sqlx::query!(
        r#"select group_id, body_digest = $3 as "is_same!" from shard.dropin_batch
           where project = $1 and facade = $2 and hidden_at is null and (
               (idempotency_key = $4 and created_at > $5)
               or ($4::text is null and idempotency_key is null and body_digest = $3
                   and created_at > $6 and ($7 or (is_retry and created_at >= $8))))
           order by group_id desc limit 1"#,
        project.uuid(),
        facade.code(),
        digest,
        repeat.idempotency_key.as_deref(),
        now - IDEMPOTENCY_WINDOW,
        now - RETRY_WINDOW,
        repeat.is_retry,
        repeat.started_at
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(row.map(|row| {
        if row.is_same {
            EarlierBatch::Same(row.group_id.into())
        } else {
            EarlierBatch::OtherBody
        }
    }))
}

/// Until the end of the transaction, the parcel is not deleted. Afterwards the batch keeps it. False:
/// it is gone.
async fn lock_parcel(
    tx: &mut Transaction,
    new: &NewDropinBatch,
    now: Timestamp,
) -> Result<bool, Error> {
    let parcel = sqlx::query_scalar!(
        "select id from shard.parcel
         where id = $1 and project = $2 and completed_at is not null and expires_at > $3
         for key share",
        new.parcel.uuid(),
        new.project.uuid(),
        now
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(parcel.is_some())
}

/// The group is not sealed until all items are loaded, so it is not completed before. A batch that
/// failed has nothing to load.
async fn insert_group(
    tx: &mut Transaction,
    new: &NewDropinBatch,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query!(
        "insert into shard.cargo_group (id, organization, project, name, created_at, sealed_at,
             completed_at)
         values ($1, $2, $3, $4, $5, $6, $6)",
        new.group.uuid(),
        new.organization.uuid(),
        new.project.uuid(),
        new.name,
        now,
        new.failure.as_ref().map(|_| now)
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

async fn insert_batch(
    tx: &mut Transaction,
    new: &NewDropinBatch,
    digest: &[u8],
    texts: &BatchTexts,
    now: Timestamp,
) -> Result<(), Error> {
    let group: Uuid = new.group.uuid();
    sqlx::query!(
        "insert into shard.dropin_batch (group_id, organization, project, api_key, facade, parcel,
             created_at, expires_at, items, options, body_digest, idempotency_key, is_retry,
             failure, failed_at, unpacked_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15)",
        group,
        new.organization.uuid(),
        new.project.uuid(),
        new.key.uuid(),
        new.facade.code(),
        new.parcel.uuid(),
        now,
        new.expires_at,
        signed(new.items),
        texts.options.as_deref(),
        digest,
        new.repeat.idempotency_key.as_deref(),
        new.repeat.is_retry,
        texts.failure.as_deref(),
        new.failure.as_ref().map(|_| now)
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
