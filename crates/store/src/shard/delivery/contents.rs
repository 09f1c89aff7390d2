//! The contents of claimed deliveries. Sizes are known before bodies are unpacked, or even read.

use std::collections::HashMap;
use std::sync::Arc;

use domain::id::{CargoId, GroupId, ProjectId};
use domain::trace_context::TraceContext;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::body::{self, PackedBody};
use crate::encryption::{ContentKind, KeyRequest, ReadKeys, ValueIdentity};
use crate::shard::project_keys::read_keys_within_limit;
use crate::shard::waiting::id_bounds;

/// A packed body up to this size is read with its row; a larger one only when memory is free.
const MAX_INLINE_BYTES: i32 = 8 * 1024;

/// The callback of a completed cargo as it is stored.
#[derive(Debug, Clone)]
pub struct StoredCallback {
    pub project: ProjectId,
    pub url: String,
    pub success: bool,
    /// Of a failure; None if an earlier version stored it.
    pub failure_code: Option<String>,
    /// The load's metadata, if the project wants it in the payload.
    pub metadata: Option<Vec<u8>>,
    /// The group that the load named.
    pub group: Option<GroupId>,
    /// The name that the load gave it in its group.
    pub custom_id: Option<String>,
    /// The size of the unpacked outcome, the metadata and the custom id. None: the row is corrupt.
    pub unpacked_size: Option<usize>,
    /// The data key of its project is unavailable: it can be sent later.
    pub lacks_key: bool,
    /// The span of its load, if it is traced.
    pub trace: Option<TraceContext>,
    cargo: CargoId,
    codec: i16,
    body: Option<Vec<u8>>,
    keys: Arc<ReadKeys>,
}

impl StoredCallback {
    /// Whether the body has yet to be read, by [`read_bodies`].
    pub const fn lacks_body(&self) -> bool {
        self.body.is_none()
    }

    pub fn set_body(&mut self, body: Vec<u8>) {
        self.body = Some(body);
    }

    /// The outcome, decrypted and unpacked.
    pub fn unpack(self) -> Result<Vec<u8>, Error> {
        let corrupt = Error::Corrupt {
            table: "outcome",
            column: "body",
        };
        let identity = ValueIdentity {
            project: self.project,
            row: self.cargo.uuid(),
            kind: ContentKind::Outcome,
        };
        let body = PackedBody {
            codec: self.codec,
            bytes: self.body.ok_or(corrupt)?,
        };
        body.decrypt(&self.keys, identity)?.unpack("outcome")
    }
}

/// The URLs and sizes of the callbacks of some cargo, with the bodies of small ones.
pub async fn read_callbacks(
    shard: &Shard,
    cargo: &[CargoId],
) -> Result<HashMap<CargoId, StoredCallback>, Error> {
    let cargo: Vec<Uuid> = cargo.iter().map(|id| id.uuid()).collect();
    let (first, last) = id_bounds(&cargo);
    let rows = sqlx::query!(
        r#"select c.id, c.project, c.callback_url as "url!", o.success, o.failure_code, o.codec,
               c.trace,
               octet_length(o.body) as "length!",
               -- The head of a frame, or of an encrypted value, tells its unpacked size.
               case when octet_length(o.body) <= $4 then o.body
                   else substring(o.body from 1 for 18) end as "bytes!",
               -- Read for projects with this option only.
               case when setting.metadata then (
                   select r.metadata from shard.request r
                   where r.cargo = c.id and r.cargo >= $2 and r.cargo <= $3
               ) end as metadata, c.group_id,
               case when c.group_id is not null then (
                   select r.custom_id from shard.request r
                   where r.cargo = c.id and r.cargo >= $2 and r.cargo <= $3
               ) end as custom_id
           from shard.cargo c join shard.outcome o on o.cargo = c.id
               left join shard.callback_setting setting on setting.project = c.project
           where c.id = any($1) and c.id >= $2 and c.id <= $3
               and o.cargo >= $2 and o.cargo <= $3
               -- A server of the version before may have queued a callback that was erased.
               and c.erased_at is null"#,
        &cargo,
        first,
        last,
        MAX_INLINE_BYTES
    )
    .fetch_all(&shard.pool)
    .await?;
    let mut all = KeyRequest::default();
    let mut requests = Vec::with_capacity(rows.len());
    for row in &rows {
        let (project, mut request) = (row.project.into(), KeyRequest::default());
        request.add_text(project, Some(&row.url));
        request.add(project, row.metadata.as_deref());
        request.add_text(project, row.custom_id.as_deref());
        request.add(project, Some(&row.bytes));
        all.extend(&request);
        requests.push(request);
    }
    let keys = Arc::new(read_keys_within_limit(shard, &all).await?);
    let contents = rows.into_iter().zip(requests).map(|(row, request)| {
        let (project, id) = (ProjectId::from(row.project), row.id);
        let length = usize::try_from(row.length).unwrap_or_default();
        let size = body::unpacked_size(row.codec, &row.bytes, length);
        let texts = CallbackTexts {
            url: row.url,
            metadata: row.metadata,
            custom_id: row.custom_id,
        };
        let texts = texts.decrypt(&keys, project, id).ok();
        let size = size.filter(|_| texts.is_some());
        let texts = texts.unwrap_or_default();
        let extra_size = texts.extra_size();
        let callback = StoredCallback {
            project,
            url: texts.url,
            success: row.success,
            failure_code: row.failure_code,
            metadata: texts.metadata,
            group: row.group_id.map(GroupId::from),
            custom_id: texts.custom_id,
            unpacked_size: size.map(|size| size + extra_size),
            lacks_key: keys.lacks_key_of(&request),
            trace: row.trace.as_deref().and_then(TraceContext::from_stored),
            cargo: id.into(),
            codec: row.codec,
            body: (row.length <= MAX_INLINE_BYTES).then_some(row.bytes),
            keys: Arc::clone(&keys),
        };
        (id.into(), callback)
    });
    Ok(contents.collect())
}

/// The texts around an outcome.
#[derive(Default)]
struct CallbackTexts {
    url: String,
    metadata: Option<Vec<u8>>,
    custom_id: Option<String>,
}

impl CallbackTexts {
    fn decrypt(self, keys: &ReadKeys, project: ProjectId, row: Uuid) -> Result<Self, Error> {
        let identity = |kind| ValueIdentity { project, row, kind };
        let metadata = keys.decrypt_json(identity(ContentKind::RequestMetadata), self.metadata)?;
        let custom_id = self.custom_id;
        let custom_id = custom_id.map(|it| keys.decrypt_text(identity(ContentKind::CustomId), it));
        Ok(Self {
            url: keys.decrypt_text(identity(ContentKind::CallbackUrl), self.url)?,
            metadata,
            custom_id: custom_id.transpose()?,
        })
    }

    fn extra_size(&self) -> usize {
        let name = self.custom_id.as_ref().map_or(0, String::len);
        self.metadata.as_ref().map_or(0, Vec::len) + name
    }
}

/// The packed bodies of some outcomes.
pub async fn read_bodies(
    shard: &Shard,
    cargo: &[CargoId],
) -> Result<HashMap<CargoId, Vec<u8>>, Error> {
    let cargo: Vec<Uuid> = cargo.iter().map(|id| id.uuid()).collect();
    let (first, last) = id_bounds(&cargo);
    let rows = sqlx::query!(
        "select cargo, body from shard.outcome
         where cargo = any($1) and cargo >= $2 and cargo <= $3",
        &cargo,
        first,
        last
    )
    .fetch_all(&shard.pool)
    .await?;
    let bodies = rows.into_iter().map(|row| (row.cargo.into(), row.body));
    Ok(bodies.collect())
}
