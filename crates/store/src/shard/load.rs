//! A group of loads, written together.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use domain::hold::Hold;
use domain::id::{ApiKeyId, CargoId, FileId, OrganizationId, ProjectId};
use domain::idempotency::IdempotencyKey;
use domain::lane::LaneId;
use domain::time::Timestamp;
use domain::usage::{UsageAmounts, UsageEvent, UsageKey, UsageTally};
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::body::PackedBody;
use crate::encryption::{ContentKind, ValueIdentity, WriteKey, WriteKeys};
use crate::shard::account;
use crate::shard::hold::HoldColumns;
use crate::shard::usage;

/// How long a large group of loads, or any group over a slow connection, may take to arrive at the
/// server. Its accounts are locked meanwhile.
const LARGE_GROUP_IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// How many values of a load are encrypted: its request, its metadata and its callback URL.
pub const ENCRYPTED_VALUES: u64 = 3;

/// One load, before it is encrypted.
#[derive(Debug, Clone)]
pub struct NewCargo {
    pub id: CargoId,
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub key: ApiKeyId,
    pub lane: LaneId,
    pub model: String,
    pub callback: Option<(String, String)>,
    pub request: PackedBody,
    pub metadata: Option<Vec<u8>>,
    pub idempotency: Option<IdempotencyKey>,
    pub hold: Hold,
    /// The capped key in whose row the hold is counted. This transaction writes that row too.
    pub spending_key: Option<ApiKeyId>,
    /// The files that it references, each once. This transaction has locked them.
    pub files: Vec<FileId>,
}

/// A load that was stored with an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyRecord {
    pub project: ProjectId,
    pub key: String,
    pub digest: Vec<u8>,
    pub cargo: CargoId,
}

/// The loads that were stored with these keys. Read under the accounts' locks, so that the answer
/// stays valid until the commit.
pub async fn find_idempotency_records(
    tx: &mut Transaction,
    projects: &[Uuid],
    keys: &[String],
    since: Timestamp,
) -> Result<Vec<IdempotencyRecord>, Error> {
    let rows = sqlx::query!(
        r#"select i.project, i.key, i.digest, i.cargo
           from unnest($1::uuid[], $2::text[]) as requested (project, key)
           join shard.idempotency i on i.project = requested.project and i.key = requested.key
           where i.created_at > $3"#,
        projects,
        keys,
        since
    )
    .fetch_all(&mut **tx)
    .await?;
    let earlier = rows.into_iter().map(|row| IdempotencyRecord {
        project: row.project.into(),
        key: row.key,
        digest: row.digest,
        cargo: row.cargo.into(),
    });
    Ok(earlier.collect())
}

/// The load that was stored with a project's key, without a lock.
pub async fn find_idempotency_record(
    shard: &Shard,
    project: ProjectId,
    key: &str,
    since: Timestamp,
) -> Result<Option<IdempotencyRecord>, Error> {
    let row = sqlx::query!(
        "select digest, cargo from shard.idempotency
         where project = $1 and key = $2 and created_at > $3",
        project.uuid(),
        key,
        since
    )
    .fetch_optional(&shard.pool)
    .await?;
    Ok(row.map(|row| IdempotencyRecord {
        project,
        key: key.to_owned(),
        digest: row.digest,
        cargo: row.cargo.into(),
    }))
}

/// Cargo, requests, the queue and the counts in one statement; with `$taken`, the
/// references too.
macro_rules! insert {
    ($columns:expr, $now:expr, $delta:expr,
     $unnested:literal, $name:literal, $taken:literal, $value:literal $(, $argument:expr)*) => {
        sqlx::query!(
            "with load as materialized (
               select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::int[],
                   $6::text[], $7::text[], $8::text[], $9::int2[], $10::bytea[], $11::bytea[],
                   $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $25::uuid[]" + $unnested + ")
               as load (id, organization, project, api_key, lane, model, url, host, codec, body, metadata,
                   held, price_input, price_output, reserved_tokens, spending_key" + $name + ")
           ), requested as (
               insert into shard.request (cargo, codec, body, metadata)
               select id, codec, body, metadata from load
           ), queued as (
               insert into shard.waiting (lane, organization, cargo)
               select lane, organization, id from load
           ), counted as (
               insert into shard.usage_delta
                   (hour, project, api_key, model, event, count, input_tokens, output_tokens)
               values ($17, $18, $19, $20, $21, $22, $23, $24)
           )" + $taken + "
           insert into shard.cargo
               (id, organization, project, api_key, lane, model, created_at, callback_url, callback_host,
                held, price_input, price_output, reserved_tokens, spending_key" + $name + ")
           select id, organization, project, api_key, lane, model, $16, url, host,
               held, price_input, price_output, reserved_tokens, spending_key" + $value + "
           from load",
            &$columns.id,
            &$columns.organization,
            &$columns.project,
            &$columns.api_key,
            &$columns.lane,
            &$columns.model,
            &$columns.url as &[Option<String>],
            &$columns.host as &[Option<String>],
            &$columns.codec,
            &$columns.body,
            &$columns.metadata as &[Option<Vec<u8>>],
            &$columns.hold.held as &[Option<i64>],
            &$columns.hold.price_input as &[Option<i64>],
            &$columns.hold.price_output as &[Option<i64>],
            &$columns.hold.reserved_tokens as &[Option<i64>],
            $now,
            $delta.hour,
            &$delta.project,
            &$delta.api_key,
            &$delta.model,
            &$delta.event,
            &$delta.count,
            &$delta.input_tokens,
            &$delta.output_tokens,
            &$columns.spending_key as &[Option<Uuid>]
            $(, $argument)*
        )
    };
}

/// Call before the statements of a group that arrives over a slow connection.
pub async fn allow_slow_arrival(tx: &mut Transaction) -> Result<(), Error> {
    Ok(tx.allow_idle(LARGE_GROUP_IDLE_TIMEOUT).await?)
}

/// Writes a group of loads, encrypted with the keys of their projects.
pub async fn insert(
    tx: &mut Transaction,
    loads: Vec<NewCargo>,
    keys: &WriteKeys,
    now: Timestamp,
) -> Result<(), Error> {
    let mut tally = UsageTally::default();
    let mut columns = Columns::with_capacity(loads.len());
    for load in loads {
        let model = load.model.clone();
        let (project, key) = (load.project, load.key);
        let what = UsageKey {
            project,
            key,
            model,
            event: UsageEvent::Loaded,
        };
        tally.count(what, UsageAmounts::default());
        columns.push(load, keys.find(project)?)?;
    }
    let delta = usage::UsageDelta::of(&tally, now);
    let bytes = columns.body.iter().map(Vec::len).sum();
    tx.expect_statement_bytes(bytes, LARGE_GROUP_IDLE_TIMEOUT)
        .await?;
    if columns.file_counts.is_empty() {
        let written = insert!(columns, now, delta, "", "", "", "");
        written.execute(&mut **tx).await?;
    } else {
        let (files, counts): (Vec<Uuid>, Vec<i32>) = columns.file_counts.iter().unzip();
        let written = insert!(
            columns,
            now,
            delta,
            ", $26::text[]",
            ", files",
            ", taken as (
                 update shard.file f set refs = f.refs + more.count
                 from unnest($27::uuid[], $28::int[]) as more (id, count) where f.id = more.id
             )",
            ", files::uuid[]",
            &columns.files as &[Option<String>],
            &files,
            &counts
        );
        written.execute(&mut **tx).await?;
    }
    if !columns.idempotency.key.is_empty() {
        insert_idempotency_keys(tx, &columns.idempotency, now).await?;
    }
    Ok(())
}

async fn insert_idempotency_keys(
    tx: &mut Transaction,
    keyed: &IdempotencyColumns,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query!(
        r#"insert into shard.idempotency (project, key, digest, cargo, created_at)
           select project, key, digest, cargo, $5
           from unnest($1::uuid[], $2::text[], $3::bytea[], $4::uuid[])
               as keyed (project, key, digest, cargo)
           -- Only a key older than its day can still be here: the new load replaces it.
           on conflict (project, key) do update
               set digest = excluded.digest, cargo = excluded.cargo, created_at = excluded.created_at"#,
        &keyed.project,
        &keyed.key,
        &keyed.digest,
        &keyed.cargo,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Whether a group whose COMMIT was not answered is stored, checked by one of its cargo.
///
/// Neither a transaction id nor a visible row proves it: a new primary assigns the same ids again,
/// and a row may be visible before a standby has it. So this locks the same accounts, which waits
/// for the end of the lost transaction. Then it reads the row and commits a log record. Everything
/// before that record is as durable as the record.
pub async fn is_stored(
    shard: &Shard,
    organizations: &[OrganizationId],
    cargo: CargoId,
) -> Result<bool, Error> {
    let mut tx = shard.writers.begin().await?;
    account::lock_all(&mut tx, organizations).await?;
    let stored = sqlx::query_scalar!(
        r#"select exists (select from shard.cargo where id = $1) as "stored!""#,
        cargo.uuid()
    )
    .fetch_one(&mut *tx)
    .await?;
    sqlx::query!("select pg_logical_emit_message(true, 'longshore', '')::text as record")
        .fetch_one(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(stored)
}

#[derive(Default)]
struct IdempotencyColumns {
    project: Vec<Uuid>,
    key: Vec<String>,
    digest: Vec<Vec<u8>>,
    cargo: Vec<Uuid>,
}

#[derive(Default)]
struct Columns {
    id: Vec<Uuid>,
    organization: Vec<Uuid>,
    project: Vec<Uuid>,
    api_key: Vec<Uuid>,
    lane: Vec<i32>,
    model: Vec<String>,
    url: Vec<Option<String>>,
    host: Vec<Option<String>>,
    codec: Vec<i16>,
    body: Vec<Vec<u8>>,
    metadata: Vec<Option<Vec<u8>>>,
    idempotency: IdempotencyColumns,
    hold: HoldColumns,
    spending_key: Vec<Option<Uuid>>,
    /// As array literals: PostgreSQL has no arrays of arrays of different lengths.
    files: Vec<Option<String>>,
    /// How many of the loads reference each file.
    file_counts: BTreeMap<Uuid, i32>,
}

impl Columns {
    fn with_capacity(size: usize) -> Self {
        Self {
            id: Vec::with_capacity(size),
            body: Vec::with_capacity(size),
            ..Self::default()
        }
    }

    fn push(&mut self, load: NewCargo, key: &WriteKey) -> Result<(), Error> {
        let (project, row) = (load.project, load.id.uuid());
        let identity = |kind| ValueIdentity { project, row, kind };
        if let Some(idempotency) = load.idempotency {
            let digest = key.stored_digest(&idempotency.body_digest);
            self.idempotency.project.push(load.project.uuid());
            self.idempotency.key.push(idempotency.key);
            self.idempotency.digest.push(digest);
            self.idempotency.cargo.push(load.id.uuid());
        }
        let (url, host) = load.callback.unzip();
        let url = url.map(|url| key.encrypt_text(identity(ContentKind::CallbackUrl), url));
        let request = load.request.encrypt(key, identity(ContentKind::Request))?;
        let metadata = load.metadata;
        let metadata = metadata.map(|it| key.encrypt(identity(ContentKind::RequestMetadata), it));
        self.id.push(load.id.uuid());
        self.organization.push(load.organization.uuid());
        self.project.push(load.project.uuid());
        self.api_key.push(load.key.uuid());
        self.lane.push(load.lane.0);
        self.model.push(load.model);
        self.url.push(url.transpose()?);
        self.host.push(host);
        self.codec.push(request.codec);
        self.body.push(request.bytes);
        self.metadata.push(metadata.transpose()?);
        self.hold.push(&load.hold);
        self.spending_key
            .push(load.spending_key.map(ApiKeyId::uuid));
        for file in &load.files {
            *self.file_counts.entry(file.uuid()).or_default() += 1;
        }
        self.files.push(to_array_literal(&load.files));
        Ok(())
    }
}

fn to_array_literal(files: &[FileId]) -> Option<String> {
    let ids: Vec<String> = files.iter().map(|id| id.uuid().to_string()).collect();
    (!ids.is_empty()).then(|| format!("{{{}}}", ids.join(",")))
}

/// Deletes at most `most` idempotency keys that were stored in this time.
/// Returns the time of the last one. The next call starts there and skips the dead rows before it.
pub async fn delete_idempotency_keys(
    shard: &Shard,
    stored: Range<Timestamp>,
    most: i64,
) -> Result<Option<Timestamp>, Error> {
    let last = sqlx::query_scalar!(
        "with gone as (
             delete from shard.idempotency where (project, key) in (
                 select project, key from shard.idempotency
                 where created_at >= $1 and created_at < $2
                 order by created_at limit $3 for update skip locked
             )
             returning created_at
         )
         select max(created_at) from gone",
        stored.start,
        stored.end,
        most
    )
    .fetch_one(&shard.pool)
    .await?;
    Ok(last)
}
