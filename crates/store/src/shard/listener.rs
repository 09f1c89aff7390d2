//! The programs that listen for callbacks under a name. Each holds a stream to a serving process
//! open, which renews its row.
//!
//! The table is unlogged: after a crash of the server it is empty, and [`renew`] writes the rows
//! again. Times are those of the server's clock, because each process has another one.

use std::collections::HashSet;

use domain::id::{ListenerId, ProjectId};
use domain::listener_name::ListenerName;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;

/// An open stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenerRow {
    pub id: ListenerId,
    pub project: ProjectId,
    pub name: ListenerName,
}

/// Registers a listener. It replaces an older one with the same name. Returns false if the project
/// has `most` live listeners with other names.
pub async fn register(shard: &Shard, new: &ListenerRow, most: i64) -> Result<bool, Error> {
    let mut tx = shard.begin().await?;
    // Two listeners that come at the same time must see each other.
    let lock = format!("longshore.listener {}", new.project.uuid());
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended($1, 0)) as locked",
        lock
    )
    .fetch_one(&mut *tx)
    .await?;
    let registered = sqlx::query!(
        "insert into shard.listener (project, name, id, seen_at)
         select $1::uuid, $2::text, $3::uuid, clock_timestamp()
         where (
             select count(*) from shard.listener l
             where l.project = $1 and l.name <> $2
                 and l.seen_at > clock_timestamp() - interval '10 seconds'
         ) < $4
         on conflict (project, name) do update
             set id = excluded.id, seen_at = excluded.seen_at",
        new.project.uuid(),
        new.name.as_str(),
        new.id.uuid(),
        most
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(registered.rows_affected() > 0)
}

/// Renews the rows of listeners, each with another name or project. Returns those that no newer
/// one has replaced.
pub async fn renew(shard: &Shard, listeners: &[ListenerRow]) -> Result<HashSet<ListenerId>, Error> {
    let projects: Vec<Uuid> = listeners.iter().map(|it| it.project.uuid()).collect();
    let names: Vec<String> = listeners.iter().map(|it| it.name.to_string()).collect();
    let ids: Vec<Uuid> = listeners.iter().map(|it| it.id.uuid()).collect();
    let alive = sqlx::query_scalar!(
        "insert into shard.listener as l (project, name, id, seen_at)
         select open.project, open.name, open.id, clock_timestamp()
         from unnest($1::uuid[], $2::text[], $3::uuid[]) as open (project, name, id)
         -- In one order, so that two processes do not wait for each other.
         order by open.project, open.name
         on conflict (project, name) do update set seen_at = excluded.seen_at
             where l.id = excluded.id
         returning l.id",
        &projects,
        &names,
        &ids
    )
    .fetch_all(&shard.pool)
    .await?;
    Ok(alive.into_iter().map(Into::into).collect())
}

/// Deletes listeners whose streams have ended.
pub async fn delete(shard: &Shard, listeners: &[ListenerId]) -> Result<(), Error> {
    let ids: Vec<Uuid> = listeners.iter().map(|id| id.uuid()).collect();
    sqlx::query!("delete from shard.listener where id = any($1)", &ids)
        .execute(&shard.pool)
        .await?;
    Ok(())
}

/// Deletes listeners whose process has died.
pub async fn delete_dead(shard: &Shard) -> Result<(), Error> {
    sqlx::query!(
        "delete from shard.listener where seen_at < clock_timestamp() - interval '1 minute'"
    )
    .execute(&shard.background)
    .await?;
    Ok(())
}
