//! The open cargo of a batch: cargo without an outcome, with or without its request.

use std::collections::HashMap;

use domain::cargo;
use domain::cargo_spans::TracedCargo;
use domain::id::{ApiKeyId, BatchId, CargoId, GroupId, OrganizationId, ProjectId};
use domain::response_shape::ResponseShape;
use domain::time::Timestamp;
use domain::trace_context::TraceContext;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::body::PackedBody;
use crate::encryption::{ContentKind, KeyRequest, ValueIdentity};
use crate::shard::project_keys::read_keys;
use crate::shard::waiting::id_bounds;

/// A cargo without an outcome, without its request.
#[derive(Debug, Clone)]
pub struct OpenCargo {
    pub cargo: CargoId,
    pub attempt: u32,
    pub loaded_at: Timestamp,
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub key: ApiKeyId,
    pub model: String,
    pub callback: Option<(String, String)>,
    /// What its answer may contain.
    pub shape: ResponseShape,
    /// The caller's deadline, or the usual one.
    pub deadline_at: Timestamp,
    /// Since when this attempt waits to be gathered.
    pub queued_at: Timestamp,
    /// The span of its load, if it is traced.
    pub trace: Option<TraceContext>,
    pub group: Option<GroupId>,
    /// Its caller has asked to cancel it.
    pub is_cancel_requested: bool,
}

impl OpenCargo {
    /// What its spans say, if it is traced.
    pub fn traced(&self) -> Option<TracedCargo> {
        let context = self.trace?;
        Some(TracedCargo {
            context,
            cargo: self.cargo,
            organization: self.organization,
            project: self.project,
            model: self.model.clone(),
            attempt: self.attempt,
            queued_at: self.queued_at,
        })
    }
}

/// The open cargo of a batch, in no particular order.
pub async fn list_open(
    shard: &Shard,
    batch: BatchId,
    cargo: &[CargoId],
) -> Result<Vec<OpenCargo>, Error> {
    let ids: Vec<Uuid> = cargo.iter().map(|id| id.uuid()).collect();
    let (first, last) = id_bounds(&ids);
    let rows = sqlx::query!(
        "select c.id, c.attempt, c.created_at, c.organization, c.project, c.api_key, c.model,
             c.callback_url, c.callback_host, c.response_shape, c.deadline_at, c.returned_at,
             c.trace, c.group_id, c.cancel_requested_at
         from shard.cargo c
         where c.id = any($1) and c.id >= $2 and c.id <= $3
             and c.batch = $4 and c.completed_at is null",
        &ids,
        first,
        last,
        batch.uuid()
    )
    .fetch_all(&shard.pool)
    .await?;
    let mut request = KeyRequest::default();
    for row in &rows {
        request.add_text(row.project.into(), row.callback_url.as_deref());
    }
    let keys = read_keys(shard, &request).await?;
    let heads = rows.into_iter().map(|row| {
        let identity = ValueIdentity {
            project: row.project.into(),
            row: row.id,
            kind: ContentKind::CallbackUrl,
        };
        let url = row.callback_url;
        // A URL that cannot be decrypted does not stop the batch: its callback fails.
        let url = match url.map(|url| keys.decrypt_text(identity, url)) {
            Some(Err(Error::Corrupt { .. })) => Some(String::new()),
            url => url.transpose()?,
        };
        Ok(OpenCargo {
            cargo: row.id.into(),
            attempt: u32::try_from(row.attempt).unwrap_or(1),
            loaded_at: row.created_at,
            organization: row.organization.into(),
            project: row.project.into(),
            key: row.api_key.into(),
            model: row.model,
            callback: url.zip(row.callback_host),
            shape: ResponseShape::from_code(row.response_shape),
            deadline_at: row
                .deadline_at
                .unwrap_or_else(|| cargo::deadline(row.created_at)),
            queued_at: row.returned_at.unwrap_or(row.created_at),
            trace: row.trace.as_deref().and_then(TraceContext::from_stored),
            group: row.group_id.map(GroupId::from),
            is_cancel_requested: row.cancel_requested_at.is_some(),
        })
    });
    heads.collect()
}

/// The stored size in bytes of the requests of some cargo.
pub async fn sum_stored_bytes(shard: &Shard, cargo: &[CargoId]) -> Result<u64, Error> {
    let ids: Vec<Uuid> = cargo.iter().map(|id| id.uuid()).collect();
    let (first, last) = id_bounds(&ids);
    let bytes = sqlx::query_scalar!(
        r#"select coalesce(sum(octet_length(body)), 0)::bigint as "bytes!" from shard.request
           where cargo = any($1) and cargo >= $2 and cargo <= $3"#,
        &ids,
        first,
        last
    )
    .fetch_one(&shard.pool)
    .await?;
    Ok(u64::try_from(bytes).unwrap_or_default())
}

/// The stored requests of some cargo, in the same order: the first, and as many more as start
/// within `most_bytes`. They are decrypted. One that cannot be decrypted cannot be unpacked.
pub async fn read_first_requests(
    shard: &Shard,
    cargo: &[(CargoId, ProjectId)],
    most_bytes: i64,
) -> Result<Vec<(CargoId, PackedBody)>, Error> {
    let ids: Vec<Uuid> = cargo.iter().map(|(id, _)| id.uuid()).collect();
    let (first, last) = id_bounds(&ids);
    let rows = sqlx::query!(
        r#"select cargo as "cargo!", codec as "codec!", body as "body!" from (
               -- A length is known without the body, so what lies beyond is never read.
               select r.cargo, r.codec, r.body, requested.place,
                   sum(octet_length(r.body)) over (order by requested.place)
                       - octet_length(r.body) as before
               from shard.request r
               join unnest($1::uuid[]) with ordinality as requested (cargo, place)
                   on requested.cargo = r.cargo
               where r.cargo = any($1) and r.cargo >= $2 and r.cargo <= $3
           ) listed
           where before < $4 order by place"#,
        &ids,
        first,
        last,
        most_bytes
    )
    .fetch_all(&shard.pool)
    .await?;
    let projects: HashMap<Uuid, ProjectId> = cargo
        .iter()
        .map(|(id, project)| (id.uuid(), *project))
        .collect();
    let mut request = KeyRequest::default();
    let mut stored = Vec::with_capacity(rows.len());
    for row in rows {
        let project = projects.get(&row.cargo).copied();
        let project = project.ok_or(Error::Fenced)?;
        let (codec, bytes) = (row.codec, row.body);
        let body = PackedBody { codec, bytes };
        body.add_key(project, &mut request);
        stored.push((row.cargo, project, body));
    }
    let keys = read_keys(shard, &request).await?;
    let decrypted = stored.into_iter().map(|(row, project, body)| {
        let kind = ContentKind::Request;
        let identity = ValueIdentity { project, row, kind };
        Ok((row.into(), body.decrypt(&keys, identity)?))
    });
    decrypted.collect()
}
