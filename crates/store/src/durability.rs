//! How durable the commits of a server are: its settings and its standbys.

use domain::durability::DurabilityFacts;

use crate::Error;
use crate::Pool;

pub async fn read_facts(pool: &Pool) -> Result<DurabilityFacts, Error> {
    let row = sqlx::query!(
        r#"
        select
            current_setting('fsync')::bool as "fsync!",
            current_setting('full_page_writes')::bool as "full_page_writes!",
            current_setting('data_checksums')::bool as "data_checksums!",
            current_setting('synchronous_commit') as "synchronous_commit!",
            current_setting('synchronous_standby_names') as "synchronous_standby_names!",
            count(*) filter (
                where state = 'streaming' and sync_state in ('sync', 'quorum')
            ) as "synchronous!",
            -- Without pg_read_all_stats, a user sees that there is a standby, and nothing about it.
            count(*) filter (where state is null) as "hidden!"
        from pg_stat_replication
        "#
    )
    .fetch_one(pool)
    .await?;
    let synchronous = u32::try_from(row.synchronous).unwrap_or(u32::MAX);
    Ok(DurabilityFacts {
        fsync: row.fsync,
        full_page_writes: row.full_page_writes,
        data_checksums: row.data_checksums,
        synchronous_commit: row.synchronous_commit,
        synchronous_standby_names: row.synchronous_standby_names,
        synchronous_standbys: (synchronous > 0 || row.hidden == 0).then_some(synchronous),
    })
}
