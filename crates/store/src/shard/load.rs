//! A group of loads, written together.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::hold::Hold;
use domain::id::{ApiKeyId, CargoId, FileId, OrganizationId, ProjectId};
use domain::idempotency::IdempotencyKey;
use domain::lane::LaneId;
use domain::response_shape::ResponseShape;
use domain::time::Timestamp;
use domain::trace_context::TraceContext;
use domain::usage::{UsageAmounts, UsageEvent, UsageKey, UsageTally};
use sqlx::types::{JsonValue, Uuid};

use crate::Error;
use crate::Shard;
use crate::Transaction;
use crate::body::PackedBody;
use crate::encryption::{ContentKind, ValueIdentity, WriteKey, WriteKeys};
use crate::number::signed;
use crate::shard::account;
use crate::shard::group::member::{MemberColumns, NewMember, insert_members};
use crate::shard::hold::HoldColumns;
use crate::shard::idempotency::{IdempotencyColumns, IdempotencyRecord, insert_idempotency_keys};
use crate::shard::usage;

/// How long a large group of loads, or any group over a slow connection, may take to arrive at the
/// server. Its accounts are locked meanwhile.
const LARGE_GROUP_IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// How many values of a load are encrypted: its request, its metadata, its callback URL, its
/// warnings and its custom id.
pub const ENCRYPTED_VALUES: u64 = 5;

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
    pub response_shape: ResponseShape,
    /// The warnings of the load as JSON, if there are any.
    pub warnings: Option<Vec<u8>>,
    /// The caller's deadline.
    pub deadline_at: Option<Timestamp>,
    /// Why it takes its way; a code of `domain::route_choice`.
    pub route_reason: Option<&'static str>,
    /// The span of the load, if it is traced.
    pub trace: Option<TraceContext>,
    /// The caller's name for it.
    pub custom_id: Option<String>,
    /// Its place in its group, which this transaction has locked.
    pub member: Option<NewMember>,
}

/// Cargo, requests, the queue and the counts in one statement; with `$taken`, the
/// references too; with `$request`, the custom ids, and with `$group`, the groups.
macro_rules! insert {
    ($columns:expr, $now:expr, $delta:expr, $unnested:literal, $name:literal, $taken:literal,
     $value:literal, $request:literal, $group:literal $(, $argument:expr)*) => {
        sqlx::query!(
            "with load as materialized (
               select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::int[],
                   $6::text[], $7::text[], $8::text[], $9::int2[], $10::bytea[], $11::bytea[],
                   $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $25::uuid[],
                   $26::jsonb[], $27::int2[], $28::bytea[], $29::timestamptz[], $30::text[],
                   $31::bytea[]" + $unnested + ")
               as load (id, organization, project, api_key, lane, model, url, host, codec, body, metadata,
                   held, price_input, price_output, reserved_tokens, spending_key,
                   price_buckets, response_shape, warnings, deadline_at, route_reason,
                   trace" + $name + $request + $group + ")
           ), requested as (
               insert into shard.request (cargo, codec, body, metadata, warnings" + $request + ")
               select id, codec, body, metadata, warnings" + $request + " from load
           ), queued as (
               insert into shard.waiting (lane, organization, cargo, deadline_at)
               select lane, organization, id, deadline_at from load
           ), counted as (
               insert into shard.usage_delta
                   (hour, project, api_key, model, event, count, input_tokens, output_tokens)
               values ($17, $18, $19, $20, $21, $22, $23, $24)
           )" + $taken + "
           insert into shard.cargo
               (id, organization, project, api_key, lane, model, created_at, callback_url, callback_host,
                held, price_input, price_output, reserved_tokens, spending_key,
                price_buckets, response_shape, deadline_at, route_reason, trace" + $name + $group + ")
           select id, organization, project, api_key, lane, model, $16, url, host,
               held, price_input, price_output, reserved_tokens, spending_key,
               price_buckets, response_shape, deadline_at, route_reason, trace" + $value + $group + "
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
            &$columns.spending_key as &[Option<Uuid>],
            &$columns.hold.price_buckets as &[Option<JsonValue>],
            &$columns.response_shape,
            &$columns.warnings as &[Option<Vec<u8>>],
            &$columns.deadline_at as &[Option<Timestamp>],
            &$columns.route_reason as &[Option<String>],
            &$columns.trace as &[Option<Vec<u8>>]
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
    if columns.has_names {
        insert_named(tx, &columns, &delta, now).await?;
    } else if columns.file_counts.is_empty() {
        let written = insert!(columns, now, delta, "", "", "", "", "", "");
        written.execute(&mut **tx).await?;
    } else {
        let (files, counts): (Vec<Uuid>, Vec<i32>) = columns.file_counts.iter().unzip();
        let written = insert!(
            columns,
            now,
            delta,
            ", $32::text[]",
            ", files",
            ", taken as (
                 update shard.file f set refs = f.refs + more.count
                 from unnest($33::uuid[], $34::int[]) as more (id, count) where f.id = more.id
             )",
            ", files::uuid[]",
            "",
            "",
            &columns.files as &[Option<String>],
            &files,
            &counts
        );
        written.execute(&mut **tx).await?;
    }
    if !columns.members.is_empty() {
        insert_members(tx, &columns.members, now).await?;
    }
    if !columns.idempotency.is_empty() {
        insert_idempotency_keys(tx, &columns.idempotency, now).await?;
    }
    Ok(())
}

/// Writes loads of which some have a custom id or a group. Some may have files too.
async fn insert_named(
    tx: &mut Transaction,
    columns: &Columns,
    delta: &usage::UsageDelta,
    now: Timestamp,
) -> Result<(), Error> {
    let (files, counts): (Vec<Uuid>, Vec<i32>) = columns.file_counts.iter().unzip();
    let written = insert!(
        columns,
        now,
        delta,
        ", $32::text[], $35::text[], $36::uuid[], $37::bigint[]",
        ", files",
        ", taken as (
             update shard.file f set refs = f.refs + more.count
             from unnest($33::uuid[], $34::int[]) as more (id, count) where f.id = more.id
         )",
        ", files::uuid[]",
        ", custom_id",
        ", group_id, group_position",
        &columns.files as &[Option<String>],
        &files,
        &counts,
        &columns.custom_id as &[Option<String>],
        &columns.group as &[Option<Uuid>],
        &columns.group_position as &[Option<i64>]
    );
    written.execute(&mut **tx).await?;
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
    response_shape: Vec<i16>,
    warnings: Vec<Option<Vec<u8>>>,
    deadline_at: Vec<Option<Timestamp>>,
    route_reason: Vec<Option<String>>,
    trace: Vec<Option<Vec<u8>>>,
    /// As array literals: PostgreSQL has no arrays of arrays of different lengths.
    files: Vec<Option<String>>,
    /// How many of the loads reference each file.
    file_counts: BTreeMap<Uuid, i32>,
    custom_id: Vec<Option<String>>,
    group: Vec<Option<Uuid>>,
    group_position: Vec<Option<i64>>,
    members: MemberColumns,
    /// Whether a load has a custom id or a group.
    has_names: bool,
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
            self.idempotency.push(IdempotencyRecord {
                project,
                digest: key.stored_digest(&idempotency.body_digest),
                key: idempotency.key,
                cargo: load.id,
            });
        }
        let custom_id = load.custom_id;
        let custom_id = custom_id.map(|it| key.encrypt_text(identity(ContentKind::CustomId), it));
        self.has_names |= custom_id.is_some() || load.member.is_some();
        self.custom_id.push(custom_id.transpose()?);
        let place = load.member.as_ref();
        self.group.push(place.map(|it| it.group.uuid()));
        self.group_position
            .push(place.map(|it| signed(it.position)));
        if let Some(member) = load.member {
            let held = load.hold.amount.nanos();
            self.members.push(member, load.id, held);
        }
        let (url, host) = load.callback.unzip();
        let url = url.map(|url| key.encrypt_text(identity(ContentKind::CallbackUrl), url));
        let request = load.request.encrypt(key, identity(ContentKind::Request))?;
        let metadata = load.metadata;
        let metadata = metadata.map(|it| key.encrypt(identity(ContentKind::RequestMetadata), it));
        let warnings = load.warnings;
        let warnings = warnings.map(|it| key.encrypt(identity(ContentKind::LoadWarnings), it));
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
        self.response_shape.push(load.response_shape.code());
        self.warnings.push(warnings.transpose()?);
        self.deadline_at.push(load.deadline_at);
        self.route_reason.push(load.route_reason.map(str::to_owned));
        self.trace.push(load.trace.map(TraceContext::to_stored));
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
