//! Folded counts: hours of usage become days, and the oldest hours and days are deleted.
//!
//! A day of usage is the row of its midnight (UTC). So every page that sums days reads the same
//! sums before and after.

use domain::id::ProjectId;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;
use crate::shard::fold::CountTable;

/// The next projects with counts, in the order of their ids. Each costs one index lookup, however
/// many rows it has.
pub async fn list_projects(
    shard: &Shard,
    counts: CountTable,
    after: Option<ProjectId>,
    most: i64,
) -> Result<Vec<ProjectId>, Error> {
    let after = after.map_or(Uuid::nil(), ProjectId::uuid);
    let projects = match counts {
        CountTable::Usage => {
            sqlx::query_scalar!(
                r#"with recursive found as (
                       (select project from shard.usage where project > $1 order by project limit 1)
                       union all
                       select (select u.project from shard.usage u where u.project > found.project
                               order by u.project limit 1)
                       from found where found.project is not null
                   )
                   select project as "project!" from found where project is not null limit $2"#,
                after,
                most
            )
            .fetch_all(&shard.background)
            .await?
        }
        CountTable::Callback => {
            sqlx::query_scalar!(
                r#"with recursive found as (
                       (select project from shard.callback_hour where project > $1
                        order by project limit 1)
                       union all
                       select (select h.project from shard.callback_hour h
                               where h.project > found.project order by h.project limit 1)
                       from found where found.project is not null
                   )
                   select project as "project!" from found where project is not null limit $2"#,
                after,
                most
            )
            .fetch_all(&shard.background)
            .await?
        }
    };
    Ok(projects.into_iter().map(Into::into).collect())
}

/// Deletes at most `most` of a project's counts before this moment. Returns how many.
pub async fn delete(
    shard: &Shard,
    counts: CountTable,
    project: ProjectId,
    before: Timestamp,
    most: i64,
) -> Result<u64, Error> {
    let deleted = match counts {
        CountTable::Usage => {
            sqlx::query!(
                "delete from shard.usage where (project, hour, api_key, model, event) in (
                     select project, hour, api_key, model, event from shard.usage
                     where project = $1 and hour < $2 order by hour limit $3)",
                project.uuid(),
                before,
                most
            )
            .execute(&shard.background)
            .await?
        }
        CountTable::Callback => {
            sqlx::query!(
                "delete from shard.callback_hour where (project, hour, host, ending, class) in (
                     select project, hour, host, ending, class from shard.callback_hour
                     where project = $1 and hour < $2 order by hour limit $3)",
                project.uuid(),
                before,
                most
            )
            .execute(&shard.background)
            .await?
        }
    };
    Ok(deleted.rows_affected())
}

/// The first hour of a project from `from` on that is not summed to its day.
pub async fn find_first_hour(
    shard: &Shard,
    project: ProjectId,
    from: Timestamp,
    before: Timestamp,
) -> Result<Option<Timestamp>, Error> {
    let hour = sqlx::query_scalar!(
        "select hour from shard.usage
         where project = $1 and hour >= $2 and hour < $3
             and hour <> date_trunc('day', hour, 'UTC')
         order by hour limit 1",
        project.uuid(),
        from,
        before
    );
    Ok(hour.fetch_optional(&shard.background).await?)
}

/// Sums the hours of one day (UTC) to the row of its midnight. Returns how many rows it replaced.
pub async fn sum_day(shard: &Shard, project: ProjectId, day: Timestamp) -> Result<u64, Error> {
    let replaced = sqlx::query_scalar!(
        r#"with gone as (
               delete from shard.usage
               where project = $1 and hour > $2::timestamptz and hour < $2 + interval '24 hours'
               returning *
           ), sums as (
               select project, $2 as day, api_key, model, event,
                   sum(count)::bigint as count, sum(input_tokens)::bigint as input_tokens,
                   sum(output_tokens)::bigint as output_tokens, sum(money)::bigint as money,
                   sum(realtime)::bigint as realtime, sum(saved)::bigint as saved,
                   sum(cached_tokens)::bigint as cached_tokens,
                   sum(cache_write_tokens)::bigint as cache_write_tokens,
                   sum(thinking_tokens)::bigint as thinking_tokens, sum(cost)::bigint as cost
               from gone group by project, api_key, model, event
               -- Two nodes lock the rows in the same order.
               order by project, api_key, model, event
           ), folded as (
               insert into shard.usage
                   (project, hour, api_key, model, event, count, input_tokens, output_tokens, money,
                    realtime, saved, cached_tokens, cache_write_tokens, thinking_tokens, cost)
               select * from sums
               on conflict (project, hour, api_key, model, event) do update
                   set count = usage.count + excluded.count,
                       input_tokens = usage.input_tokens + excluded.input_tokens,
                       output_tokens = usage.output_tokens + excluded.output_tokens,
                       money = usage.money + excluded.money,
                       realtime = usage.realtime + excluded.realtime,
                       saved = usage.saved + excluded.saved,
                       cached_tokens = usage.cached_tokens + excluded.cached_tokens,
                       cache_write_tokens = usage.cache_write_tokens + excluded.cache_write_tokens,
                       thinking_tokens = usage.thinking_tokens + excluded.thinking_tokens,
                       cost = usage.cost + excluded.cost
           )
           select count(*) as "count!" from gone"#,
        project.uuid(),
        day
    )
    .fetch_one(&shard.background)
    .await?;
    Ok(u64::try_from(replaced).unwrap_or_default())
}

/// Hours before this are summed to days.
pub async fn read_days_until(shard: &Shard) -> Result<Timestamp, Error> {
    let until = sqlx::query_scalar!("select until from shard.history_floor where task = 'usage'")
        .fetch_optional(&shard.pool)
        .await?;
    Ok(until.unwrap_or(Timestamp::UNIX_EPOCH))
}

pub async fn raise_days_until(shard: &Shard, until: Timestamp) -> Result<(), Error> {
    sqlx::query!(
        "insert into shard.history_floor (task, until) values ('usage', $1)
         on conflict (task) do update set until = greatest(history_floor.until, excluded.until)",
        until
    )
    .execute(&shard.pool)
    .await?;
    Ok(())
}
