//! The callbacks page: attempts by host and hour, due callbacks, and failed callbacks.

use domain::callback_health::{CallbackAttemptResult, LatencyBucket};
use domain::id::{CargoId, OrganizationId, ProjectId};
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::encryption::{ContentKind, KeyRequest, ValueIdentity};
use crate::number::unsigned;
use crate::shard::project_keys::read_keys;

/// Attempts at a host with the same result and the same latency class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostAttempts {
    pub host: String,
    pub ending: CallbackAttemptResult,
    pub class: LatencyBucket,
    pub count: u64,
}

fn parse_ending(text: &str) -> Result<CallbackAttemptResult, Error> {
    CallbackAttemptResult::parse(text).ok_or(Error::Corrupt {
        table: "callback_hour",
        column: "ending",
    })
}

/// Attempts since an hour, by host.
pub async fn count_by_host(
    shard: &Shard,
    project: ProjectId,
    since: Timestamp,
) -> Result<Vec<HostAttempts>, Error> {
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
        Ok(HostAttempts {
            host: row.host,
            ending: parse_ending(&row.ending)?,
            class: LatencyBucket::from_number(row.class),
            count: unsigned(row.count),
        })
    });
    attempts.collect()
}

/// Attempts since an hour, hour by hour; of one host or of all.
pub async fn count_by_hour(
    shard: &Shard,
    project: ProjectId,
    host: Option<&str>,
    since: Timestamp,
) -> Result<Vec<(Timestamp, CallbackAttemptResult, u64)>, Error> {
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
        .map(|row| Ok((row.hour, parse_ending(&row.ending)?, unsigned(row.count))));
    hours.collect()
}

/// Callbacks that wait for an attempt at a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueCallbacks {
    pub host: String,
    /// At most the number of rows that were read.
    pub count: u64,
    /// If false, there may be more.
    pub is_complete: bool,
    pub next_at: Timestamp,
}

/// The project's callbacks among the first `looked_at` of its organization at each host.
pub async fn count_due(
    shard: &Shard,
    organization: OrganizationId,
    project: ProjectId,
    hosts: &[String],
    looked_at: u32,
) -> Result<Vec<DueCallbacks>, Error> {
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
        Some(DueCallbacks {
            host: row.host,
            count: unsigned(row.count),
            is_complete: row.seen < i64::from(looked_at),
            next_at: row.next_at?,
        })
    });
    Ok(due.collect())
}

/// A callback that failed (retries exhausted).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedCallback {
    pub cargo: CargoId,
    pub host: String,
    pub url: Option<String>,
    pub ended_at: Option<Timestamp>,
    pub attempts: u64,
    /// The HTTP status of the last attempt.
    pub status: Option<u16>,
    pub error: Option<String>,
}

struct FailureRow {
    cargo: Uuid,
    label: String,
}

/// Two statements, because each uses a different index.
async fn list_failure_rows(
    shard: &Shard,
    project: ProjectId,
    host: Option<&str>,
    before: Option<CargoId>,
    limit: u32,
) -> Result<Vec<FailureRow>, Error> {
    let before = before.map_or(Uuid::max(), CargoId::uuid);
    let Some(host) = host else {
        let noted = sqlx::query_as!(
            FailureRow,
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
        FailureRow,
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

/// Newest cargo first, older than `before`; of one host or of all.
pub async fn list_failed(
    shard: &Shard,
    project: ProjectId,
    host: Option<&str>,
    before: Option<CargoId>,
    limit: u32,
) -> Result<Vec<FailedCallback>, Error> {
    let noted = list_failure_rows(shard, project, host, before, limit).await?;
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
    let mut request = KeyRequest::default();
    for row in &rows {
        request.add_text(project, row.callback_url.as_deref());
    }
    let keys = read_keys(shard, &request).await?;
    let given_up = noted.into_iter().map(|noted| {
        let row = rows.iter().find(|row| row.id == noted.cargo);
        let identity = ValueIdentity {
            project,
            row: noted.cargo,
            kind: ContentKind::CallbackUrl,
        };
        let url = row.and_then(|row| row.callback_url.clone());
        let url = url.map(|url| keys.decrypt_text(identity, url));
        Ok(FailedCallback {
            cargo: noted.cargo.into(),
            host: noted.label,
            url: url.transpose()?,
            ended_at: row.and_then(|row| row.callback_ended_at),
            attempts: row
                .and_then(|row| row.number)
                .map_or(0, |number| unsigned(number.into())),
            status: row
                .and_then(|row| row.status)
                .and_then(|status| u16::try_from(status).ok()),
            error: row.and_then(|row| row.error.clone()),
        })
    });
    given_up.collect()
}
