//! Erases the bodies of cargo. Status, times, tokens and charge stay, for tracking, usage and the
//! ledger audit.

use domain::time::Timestamp;
use sqlx::types::Uuid;

use crate::Error;
use crate::Transaction;
use crate::shard::waiting::id_bounds;

/// Erases completed cargo that this transaction has locked, except cargo with a delivery: a worker
/// may be sending its callback. Returns the cargo that was erased.
///
/// A resend that is queued meanwhile locks the cargo too, and then sees that it is erased.
pub(crate) async fn erase(
    tx: &mut Transaction,
    cargo: &[Uuid],
    now: Timestamp,
) -> Result<Vec<Uuid>, Error> {
    if cargo.is_empty() {
        return Ok(Vec::new());
    }
    let (first, last) = id_bounds(cargo);
    let erased = sqlx::query_scalar!(
        r#"with erased as (
               update shard.cargo c set erased_at = $4,
                   -- A path or a query may hold a secret of the receiver.
                   callback_url = coalesce(
                       substring(c.callback_url from '^[^:]+://[^/?#]*'),
                       -- It is encrypted. A listener has no other host than its URL. In
                       -- production, the scheme of all others is https.
                       case when c.callback_host like 'listen://%' then c.callback_host
                           else 'https://' || regexp_replace(c.callback_host, ':443$', '') end
                   ) || '/'
               where c.id = any($1) and c.id >= $2 and c.id <= $3
                   and c.completed_at is not null and c.erased_at is null
                   and not exists (select from shard.delivery d where d.cargo = c.id)
               returning c.id, c.project, c.group_id
           ), requests as (
               -- An empty body, not null: servers of the version before read it.
               update shard.request r set codec = 0, key_id = null, body = '', metadata = null,
                   warnings = null, custom_id = null
               from erased where r.cargo = erased.id
                   -- By index, whatever the estimates.
                   and r.cargo = any($1) and r.cargo >= $2 and r.cargo <= $3
           ), outcomes as (
               update shard.outcome o set codec = 0, key_id = null, body = ''
               from erased where o.cargo = erased.id
                   and o.cargo = any($1) and o.cargo >= $2 and o.cargo <= $3
           ), attempts as (
               update shard.attempt a set error = null, answer = null, encrypted = false
               from erased where a.cargo = erased.id
                   and a.cargo = any($1) and a.cargo >= $2 and a.cargo <= $3
                   and (a.error is not null or a.answer is not null)
           ), failures as (
               -- With another label, no bulk resend finds it.
               update shard.trouble t set label = 'erased'
               from erased where t.project = erased.project and t.cargo = erased.id
                   and t.kind in ('failed', 'callback_failed')
                   and t.cargo = any($1) and t.cargo >= $2 and t.cargo <= $3
           ), group_failures as (
               -- A label is a part of the error of its example.
               delete from shard.group_failure f using erased
               where f.group_id = erased.group_id and f.cargo = erased.id
           )
           select id as "id!" from erased"#,
        cargo,
        first,
        last,
        now
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(erased)
}
