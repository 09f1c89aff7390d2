//! The callback of a completed group: what to send, and how far it is.
//!
//! A trigger queues it when the group is completed. Its delivery has the id of the group.

use std::collections::HashMap;

use domain::id::{CargoId, ProjectId};
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::encryption::KeyRequest;
use crate::shard::group::row::{GroupRow, groups};
use crate::shard::project_keys::read_keys_within_limit;
use crate::shard::tracking::TrackedCallback;

/// The callback of a completed group as it is stored.
#[derive(Debug, Clone)]
pub struct StoredGroupCallback {
    pub project: ProjectId,
    /// None: the row is corrupt, or its data key is unavailable.
    pub group: Option<GroupRow>,
    /// The data key of its project is unavailable: it can be sent later.
    pub lacks_key: bool,
}

/// The callbacks among some deliveries that are those of groups, by the id of the delivery.
pub async fn read_callbacks(
    shard: &Shard,
    deliveries: &[CargoId],
) -> Result<HashMap<CargoId, StoredGroupCallback>, Error> {
    let ids: Vec<Uuid> = deliveries.iter().map(|id| id.uuid()).collect();
    let rows = groups!(
        "g as (
             select * from shard.cargo_group
             where id = any($1) and completed_at is not null and callback_url is not null
         )",
        &ids
    )
    .fetch_all(&shard.pool)
    .await?;
    let mut all = KeyRequest::default();
    let mut requests = Vec::with_capacity(rows.len());
    for row in &rows {
        let request = row.key_request();
        all.extend(&request);
        requests.push(request);
    }
    let keys = read_keys_within_limit(shard, &all).await?;
    let callbacks = rows.into_iter().zip(requests).map(|(row, request)| {
        let id = row.id.into();
        let callback = StoredGroupCallback {
            project: row.project.into(),
            lacks_key: keys.lacks_key_of(&request),
            group: row.decrypt(&keys).ok(),
        };
        (id, callback)
    });
    Ok(callbacks.collect())
}

/// How far the callback of a group is. None: the group has none.
pub async fn find_callback(
    shard: &Shard,
    group: &GroupRow,
) -> Result<Option<TrackedCallback>, Error> {
    let Some(url) = group.callback_url.clone() else {
        return Ok(None);
    };
    let row = sqlx::query!(
        r#"select g.callback_attempts, g.callback_attempted_at, g.callback_status,
               g.callback_error, g.callback_delivered_at, d.due_at as "due_at?"
           from shard.cargo_group g left join shard.delivery d on d.cargo = g.id
           where g.id = $1"#,
        group.id.uuid()
    )
    .fetch_optional(&shard.reads)
    .await?;
    Ok(row.map(|row| TrackedCallback {
        url,
        attempts: u32::try_from(row.callback_attempts).unwrap_or_default(),
        last_attempt_at: row.callback_attempted_at,
        last_status_code: row.callback_status.and_then(|it| u16::try_from(it).ok()),
        last_error: row.callback_error,
        next_attempt_at: row.due_at,
        delivered_at: row.callback_delivered_at,
    }))
}
