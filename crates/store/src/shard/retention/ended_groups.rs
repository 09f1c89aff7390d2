//! Erases the texts of groups that have ended: their metadata, the path of their callback URL, and
//! what the request of a batch set for all its items. Their names, counts and times stay.

use domain::id;
use domain::retention::ProjectRetention;
use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Shard;

const MAX_GROUPS_PER_STATEMENT: i64 = 500;
const MAX_STATEMENTS_PER_STEP: usize = 4;

/// Erases the texts of the next groups of a project that are past its retention. Returns whether all
/// are erased.
pub(super) async fn erase_texts(
    shard: &Shard,
    project: Uuid,
    retention: ProjectRetention,
    now: Timestamp,
) -> Result<bool, Error> {
    let before = now - retention.group_age();
    let is_zero = retention == ProjectRetention::Zero;
    let mut after = Uuid::nil();
    for _ in 0..MAX_STATEMENTS_PER_STEP {
        match erase_page(shard, project, after, before, is_zero).await? {
            Some(last) => after = last,
            None => return Ok(true),
        }
    }
    Ok(false)
}

/// Erases the texts of the next groups by id. Returns the last one, or None if there is none.
async fn erase_page(
    shard: &Shard,
    project: Uuid,
    after: Uuid,
    before: Timestamp,
    is_zero: bool,
) -> Result<Option<Uuid>, Error> {
    let erased = sqlx::query_scalar!(
        r#"with due as (
               select g.id from shard.cargo_group g
                   left join shard.dropin_batch b on b.group_id = g.id
               where g.project = $1 and g.id > $2 and g.id < $3 and g.completed_at is not null
                   and case when $4 then greatest(g.completed_at, g.callback_attempted_at)
                       else coalesce(g.loaded_at, g.created_at) end <= $5
                   -- Its callback is sent with the metadata.
                   and not exists (select from shard.delivery d where d.cargo = g.id)
                   and (g.metadata is not null or g.callback_error is not null
                       or g.callback_url !~ '^[^:]+://[^/?#]*/$'
                       or b.options is not null or b.failure is not null
                       or b.idempotency_key is not null)
               order by g.id limit $6 for no key update of g
           ), batches as (
               -- An idempotency key counts for a day, and the group is older.
               update shard.dropin_batch b
               set options = null, failure = null, idempotency_key = null
               from due where b.group_id = due.id
           )
           update shard.cargo_group g set metadata = null, callback_error = null,
               -- As the erasure of a cargo: scheme and host stay.
               callback_url = coalesce(
                   substring(g.callback_url from '^[^:]+://[^/?#]*'),
                   case when g.callback_host like 'listen://%' then g.callback_host
                       else 'https://' || regexp_replace(g.callback_host, ':443$', '') end
               ) || '/'
           from due where g.id = due.id
           returning g.id as "id!""#,
        project,
        after,
        id::first_id_at(before),
        is_zero,
        before,
        MAX_GROUPS_PER_STATEMENT
    )
    .fetch_all(&shard.background)
    .await?;
    Ok(erased.into_iter().max())
}
