//! How a project's callbacks fare: by host and hour, what is due, and what was given up.

use domain::callback_health::{Class, Ending};
use domain::id::{CargoId, OrganizationId, ProjectId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::number::unsigned;

/// Attempts at a host that ended alike and took about as long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempts {
    pub host: String,
    pub ending: Ending,
    pub class: Class,
    pub count: u64,
}

fn ending(text: &str) -> Result<Ending, Error> {
    Ending::parse(text).ok_or(Error::Corrupt {
        table: "callback_hour",
        column: "ending",
    })
}

/// Since an hour, by host.
pub async fn hosts(
    shard: &Shard,
    project: ProjectId,
    since: Timestamp,
) -> Result<Vec<Attempts>, Error> {
    let rows = sqlx::query!(
        r#"select host, ending, class, sum(count)::bigint as "count!" from shard.callback_hour
           where project = $1 and hour >= $2
           group by host, ending, class order by host, ending, class"#,
        project.uuid(),
        since
    )
    .fetch_all(&shard.reads)
    .await?;
    let attempts = rows.into_iter().map(|row| {
        Ok(Attempts {
            host: row.host,
            ending: ending(&row.ending)?,
            class: Class::from_number(row.class),
            count: unsigned(row.count),
        })
    });
    attempts.collect()
}

/// Since an hour, hour by hour; of one host or of all.
pub async fn hours(
    shard: &Shard,
    project: ProjectId,
    host: Option<&str>,
    since: Timestamp,
) -> Result<Vec<(Timestamp, Ending, u64)>, Error> {
    let rows = sqlx::query!(
        r#"select hour, ending, sum(count)::bigint as "count!" from shard.callback_hour
           where project = $1 and hour >= $2 and ($3::text is null or host = $3)
           group by hour, ending order by hour, ending"#,
        project.uuid(),
        since,
        host
    )
    .fetch_all(&shard.reads)
    .await?;
    let hours = rows
        .into_iter()
        .map(|row| Ok((row.hour, ending(&row.ending)?, unsigned(row.count))));
    hours.collect()
}

/// What waits to be tried at a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    pub host: String,
    /// Not more than were looked at.
    pub count: u64,
    /// Otherwise there may be more.
    pub is_all: bool,
    pub next_at: Timestamp,
}

/// The project's own among the first `looked_at` of its organization at each host.
pub async fn due(
    shard: &Shard,
    organization: OrganizationId,
    project: ProjectId,
    hosts: &[String],
    looked_at: u32,
) -> Result<Vec<Due>, Error> {
    let rows = sqlx::query!(
        r#"select h.host as "host!", count(c.id) as "count!", count(*) as "seen!",
               min(d.due_at) filter (where c.id is not null) as next_at
           from unnest($3::text[]) as h (host)
               cross join lateral (
                   select cargo, due_at from shard.delivery
                   where organization = $1 and host = h.host and node is null
                   order by due_at limit $4) d
               left join shard.cargo c on c.id = d.cargo and c.project = $2
           group by h.host"#,
        organization.uuid(),
        project.uuid(),
        hosts,
        i64::from(looked_at)
    )
    .fetch_all(&shard.reads)
    .await?;
    let due = rows.into_iter().filter_map(|row| {
        Some(Due {
            host: row.host,
            count: unsigned(row.count),
            is_all: row.seen < i64::from(looked_at),
            next_at: row.next_at?,
        })
    });
    Ok(due.collect())
}

/// A callback that is no longer tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenUp {
    pub cargo: CargoId,
    pub host: String,
    pub url: Option<String>,
    pub ended_at: Option<Timestamp>,
    pub attempts: u64,
    /// What the last attempt came to.
    pub status: Option<u16>,
    pub error: Option<String>,
}

struct Noted {
    cargo: Uuid,
    label: String,
}

/// With a host the one index serves, without one the other.
async fn noted(
    shard: &Shard,
    project: ProjectId,
    host: Option<&str>,
    before: Option<CargoId>,
    limit: u32,
) -> Result<Vec<Noted>, Error> {
    let before = before.map_or(Uuid::max(), CargoId::uuid);
    let Some(host) = host else {
        let noted = sqlx::query_as!(
            Noted,
            "select cargo, label from shard.trouble
             where project = $1 and kind = 'callback_failed' and cargo < $2
             order by cargo desc limit $3",
            project.uuid(),
            before,
            i64::from(limit)
        );
        return Ok(noted.fetch_all(&shard.reads).await?);
    };
    let noted = sqlx::query_as!(
        Noted,
        "select cargo, label from shard.trouble
         where project = $1 and kind = 'callback_failed' and label = $2 and cargo < $3
         order by cargo desc limit $4",
        project.uuid(),
        host,
        before,
        i64::from(limit)
    );
    Ok(noted.fetch_all(&shard.reads).await?)
}

/// Newest cargo first, before one; of a host or of all.
pub async fn given_up(
    shard: &Shard,
    project: ProjectId,
    host: Option<&str>,
    before: Option<CargoId>,
    limit: u32,
) -> Result<Vec<GivenUp>, Error> {
    let noted = noted(shard, project, host, before, limit).await?;
    let ids: Vec<_> = noted.iter().map(|row| row.cargo).collect();
    let rows = sqlx::query!(
        r#"select c.id, c.callback_url, c.callback_ended_at, last.number as "number?",
               last.status as "status?", last.error as "error?"
           from unnest($1::uuid[]) as wanted (id) join shard.cargo c on c.id = wanted.id
               left join lateral (
                   select number, status, error from shard.attempt
                   where cargo = wanted.id order by number desc limit 1) last on true"#,
        &ids
    )
    .fetch_all(&shard.reads)
    .await?;
    let given_up = noted.into_iter().map(|noted| {
        let row = rows.iter().find(|row| row.id == noted.cargo);
        GivenUp {
            cargo: noted.cargo.into(),
            host: noted.label,
            url: row.and_then(|row| row.callback_url.clone()),
            ended_at: row.and_then(|row| row.callback_ended_at),
            attempts: row
                .and_then(|row| row.number)
                .map_or(0, |number| unsigned(number.into())),
            status: row
                .and_then(|row| row.status)
                .and_then(|status| u16::try_from(status).ok()),
            error: row.and_then(|row| row.error.clone()),
        }
    });
    Ok(given_up.collect())
}
