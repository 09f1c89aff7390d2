//! What is open in a batch: its cargo without an outcome, with or without their bodies.

use domain::id::{BatchId, CargoId, KeyId, OrganizationId, ProjectId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::body;
use crate::shard::waiting::bounds;

/// A cargo that waits for its outcome, without its body.
#[derive(Debug, Clone)]
pub struct Head {
    pub cargo: CargoId,
    pub attempt: u32,
    pub loaded_at: Timestamp,
    pub organization: OrganizationId,
    pub project: ProjectId,
    pub key: KeyId,
    pub model: String,
    pub callback: Option<(String, String)>,
}

/// The open cargo of a batch, in no particular order.
pub async fn heads(shard: &Shard, batch: BatchId, cargo: &[CargoId]) -> Result<Vec<Head>, Error> {
    let ids: Vec<Uuid> = cargo.iter().map(|id| id.uuid()).collect();
    let (first, last) = bounds(&ids);
    let rows = sqlx::query!(
        "select c.id, c.attempt, c.created_at, c.organization, c.project, c.api_key, c.model,
             c.callback_url, c.callback_host
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
    let heads = rows.into_iter().map(|row| Head {
        cargo: row.id.into(),
        attempt: u32::try_from(row.attempt).unwrap_or(1),
        loaded_at: row.created_at,
        organization: row.organization.into(),
        project: row.project.into(),
        key: row.api_key.into(),
        model: row.model,
        callback: row.callback_url.zip(row.callback_host),
    });
    Ok(heads.collect())
}

/// The requests of some cargo, unpacked.
pub async fn requests(shard: &Shard, cargo: &[CargoId]) -> Result<Vec<(CargoId, Vec<u8>)>, Error> {
    let ids: Vec<Uuid> = cargo.iter().map(|id| id.uuid()).collect();
    let (first, last) = bounds(&ids);
    let rows = sqlx::query!(
        "select cargo, codec, body from shard.request
         where cargo = any($1) and cargo >= $2 and cargo <= $3",
        &ids,
        first,
        last
    )
    .fetch_all(&shard.pool)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok((
                row.cargo.into(),
                body::unpack(row.codec, row.body, "request")?,
            ))
        })
        .collect()
}
