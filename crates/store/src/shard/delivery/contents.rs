//! The contents of claimed deliveries. Sizes are known before bodies are unpacked, or even read.

use std::collections::HashMap;
use std::sync::Arc;

use domain::id::{CargoId, ProjectId};
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
    /// The size of the unpacked outcome and the metadata. None: the row is corrupt.
    pub unpacked_size: Option<usize>,
    /// The data key of its project is unavailable: it can be sent later.
    pub lacks_key: bool,
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
               octet_length(o.body) as "length!",
               -- The head of a frame, or of an encrypted value, tells its unpacked size.
               case when octet_length(o.body) <= $4 then o.body
                   else substring(o.body from 1 for 18) end as "bytes!",
               -- Read for projects with this option only.
               case when setting.metadata then (
                   select r.metadata from shard.request r
                   where r.cargo = c.id and r.cargo >= $2 and r.cargo <= $3
               ) end as metadata
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
        request.add(project, Some(&row.bytes));
        all.extend(&request);
        requests.push(request);
    }
    let keys = Arc::new(read_keys_within_limit(shard, &all).await?);
    let contents = rows.into_iter().zip(requests).map(|(row, request)| {
        let (project, id) = (ProjectId::from(row.project), row.id);
        let identity = |kind| ValueIdentity {
            project,
            row: id,
            kind,
        };
        let length = usize::try_from(row.length).unwrap_or_default();
        let size = body::unpacked_size(row.codec, &row.bytes, length);
        let url = keys.decrypt_text(identity(ContentKind::CallbackUrl), row.url);
        let metadata = keys.decrypt_json(identity(ContentKind::RequestMetadata), row.metadata);
        let (url, metadata, size) = match (url, metadata) {
            (Ok(url), Ok(metadata)) => (url, metadata, size),
            _ => (String::new(), None, None),
        };
        let metadata_size = metadata.as_ref().map_or(0, Vec::len);
        let callback = StoredCallback {
            project,
            url,
            success: row.success,
            failure_code: row.failure_code,
            metadata,
            unpacked_size: size.map(|size| size + metadata_size),
            lacks_key: keys.lacks_key_of(&request),
            cargo: id.into(),
            codec: row.codec,
            body: (row.length <= MAX_INLINE_BYTES).then_some(row.bytes),
            keys: Arc::clone(&keys),
        };
        (id.into(), callback)
    });
    Ok(contents.collect())
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
