//! The newest results of a group, without their bodies.

use std::collections::HashMap;

use domain::id::{CargoId, GroupId, ProjectId};
use domain::money::Money;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::encryption::{ContentKind, KeyRequest, ValueIdentity};
use crate::number::{signed, unsigned};
use crate::shard::project_keys::read_keys;
use crate::shard::waiting::id_bounds;

/// A completed cargo of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupResultItem {
    /// The place in the order of completion, from 1 without a gap.
    pub number: u64,
    pub position: u64,
    /// None if the load named none, or if the cargo was erased.
    pub custom_id: Option<String>,
    pub cargo: CargoId,
    pub model: String,
    pub completed_at: Option<Timestamp>,
    pub success: bool,
    /// Of a failure.
    pub failure_code: Option<String>,
    pub charged: Money,
}

struct NumberedCargo {
    number: i64,
    position: i64,
    cargo: Uuid,
}

/// The results that were completed last, before the result `before`. Results whose day was dropped
/// are left out.
pub async fn list_results(
    shard: &Shard,
    project: ProjectId,
    group: GroupId,
    before: Option<u64>,
    limit: u32,
) -> Result<Vec<GroupResultItem>, Error> {
    let places = sqlx::query_as!(
        NumberedCargo,
        "select number, position, cargo from shard.group_result
         where group_id = $1 and number < $2 order by number desc limit $3",
        group.uuid(),
        before.map_or(i64::MAX, signed),
        i64::from(limit)
    )
    .fetch_all(&shard.reads)
    .await?;
    let ids: Vec<Uuid> = places.iter().map(|place| place.cargo).collect();
    let (first, last) = id_bounds(&ids);
    let rows = sqlx::query!(
        "select c.id, c.model, c.completed_at, r.custom_id, o.success, o.failure_code, o.charged
         from shard.cargo c
         -- With a limit these are lookups by index, whatever the estimates.
         join lateral (select custom_id from shard.request
             where cargo = c.id and cargo >= $3 and cargo <= $4 limit 1) r on true
         join lateral (select success, failure_code, charged from shard.outcome
             where cargo = c.id and cargo >= $3 and cargo <= $4 limit 1) o on true
         where c.id = any($1) and c.project = $2 and c.id >= $3 and c.id <= $4",
        &ids,
        project.uuid(),
        first,
        last
    )
    .fetch_all(&shard.reads)
    .await?;
    let mut request = KeyRequest::default();
    for row in &rows {
        request.add_text(project, row.custom_id.as_deref());
    }
    let keys = read_keys(shard, &request).await?;
    let mut rows: HashMap<Uuid, _> = rows.into_iter().map(|row| (row.id, row)).collect();
    let mut results = Vec::with_capacity(places.len());
    for place in places {
        let Some(row) = rows.remove(&place.cargo) else {
            continue;
        };
        let identity = ValueIdentity {
            project,
            row: place.cargo,
            kind: ContentKind::CustomId,
        };
        let custom_id = row.custom_id.map(|it| keys.decrypt_text(identity, it));
        results.push(GroupResultItem {
            number: unsigned(place.number),
            position: unsigned(place.position),
            custom_id: custom_id.transpose()?,
            cargo: place.cargo.into(),
            model: row.model,
            completed_at: row.completed_at,
            success: row.success,
            failure_code: row.failure_code,
            charged: row.charged.map_or(Money::ZERO, Money),
        });
    }
    Ok(results)
}
