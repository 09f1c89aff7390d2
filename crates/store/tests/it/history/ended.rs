//! Batches, resends and files that have ended leave; open ones stay, however old.

use domain::time::Clock as _;
use store::shard::history::{self, ended};
use test_support::database::TestDatabase;

use super::{days_ago, execute, read};

const IDS: &str = "(lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0')
    || '70008000' || lpad(to_hex(n), 12, '0'))::uuid";

/// `rows` with the columns id, n and at: one a day for the last ten days.
async fn insert_daily(database: &TestDatabase, statement: &str) {
    let now = database.clock.now();
    let rows = format!(
        "with days as (select n, '{now}'::timestamptz - n * interval '1 day' as at
             from generate_series(1, 10) n),
         rows as (select {IDS} as id, n, at from days) {statement}"
    );
    execute(&database.shard.pool, rows).await;
}

#[tokio::test]
async fn ended_batches_leave_and_open_ones_stay() {
    let database = TestDatabase::new().await;
    insert_daily(
        &database,
        "insert into shard.batch (id, lane, state, cargo, gathered_at, ended_at)
         select id, 1, case when n % 5 = 0 then 'gathered' else 'ended' end, '{}', at,
             case when n % 5 = 0 then null else at end from rows",
    )
    .await;
    let before = days_ago(&database, 4);
    let shard = &database.shard;
    assert_eq!(ended::delete_batches(shard, before, 3).await.unwrap(), 3);
    assert_eq!(ended::delete_batches(shard, before, 3).await.unwrap(), 1);
    let left = "select extract(day from now() - gathered_at) is not null and state = 'ended'
        from shard.batch order by id";
    // Days 10 and 5 are open; 4 is not older than the limit.
    assert_eq!(
        read(&shard.pool, left).await,
        "false false true true true true"
    );
}

#[tokio::test]
async fn ended_resends_leave_and_running_ones_stay() {
    let database = TestDatabase::new().await;
    insert_daily(
        &database,
        "insert into shard.resend (id, organization, project, host, first, last, total, per_second,
             state, next_at, started_by, started_at, ended_at)
         select id, id, id, 'host', id, id, 1, 1,
             case when n % 5 = 0 then 'running' else 'done' end, at, 'ada', at,
             case n when 5 then null when 10 then null when 9 then at + interval '7 days' else at end
         from rows",
    )
    .await;
    let shard = &database.shard;
    let before = days_ago(&database, 4);
    assert_eq!(ended::delete_resends(shard, before, 2).await.unwrap(), 2);
    assert_eq!(ended::delete_resends(shard, before, 2).await.unwrap(), 1);
    assert_eq!(ended::delete_resends(shard, before, 2).await.unwrap(), 0);
    let left = "select state from shard.resend order by id";
    assert_eq!(
        read(&shard.pool, left).await,
        "running done running done done done done"
    );
}

#[tokio::test]
async fn ended_files_leave_and_others_stay() {
    let database = TestDatabase::new().await;
    // Each day: ended, expired by a server of the version before, failed, staged, referenced, ready.
    insert_daily(
        &database,
        "insert into shard.file (id, organization, project, status, kind, media_type, filename,
             size_bytes, sha256, ttl_seconds, failure_reason, created_at, ended_at, staged, refs,
             object, scan_status)
         select (left(id::text, 35) || kind.n)::uuid, id, id, kind.status, kind.name, 'image/png', 'x',
             1, decode(repeat('00', 32), 'hex'), 60,
             case when kind.status = 'failed' then 'upload_missing' end, at,
             case when kind.has_end then at end, kind.name = 'staged',
             case when kind.name = 'referenced' then 1 else 0 end,
             case when kind.status = 'ready' then id end,
             case when kind.status = 'ready' then 'clean' else 'pending' end
         from rows, (values (1, 'ended', 'expired', true), (2, 'undated', 'expired', false),
             (3, 'failed', 'failed', false), (4, 'staged', 'expired', true),
             (5, 'referenced', 'expired', true), (6, 'ready', 'ready', false))
             as kind (n, name, status, has_end)",
    )
    .await;
    let (shard, before) = (&database.shard, days_ago(&database, 4));
    let sweep = async || {
        let (mut after, mut deleted) = (None, 0);
        loop {
            let now = database.clock.now();
            let page = ended::delete_files(shard, after, before, 7, now)
                .await
                .unwrap();
            deleted += page.deleted;
            if page.last.is_none() {
                return deleted;
            }
            after = page.last;
        }
    };
    // Of days 5 to 10: ended and failed.
    assert_eq!(sweep().await, 12);
    assert_eq!(sweep().await, 0);
    let left = "select concat(kind, ':', count(*)) from shard.file group by kind order by kind";
    assert_eq!(
        read(&shard.pool, left).await,
        "ended:4 failed:4 ready:10 referenced:10 staged:10 undated:10"
    );
    // The others have a time now, from which their retention counts.
    let dated = "select count(*) from shard.file where kind = 'undated' and ended_at is not null";
    assert_eq!(read(&shard.pool, dated).await, "6");
}

#[tokio::test]
async fn what_belongs_to_a_kept_day_is_kept() {
    let database = TestDatabase::new().await;
    let since = history::find_kept_since(&database.shard).await.unwrap();
    // The template has partitions from two days back on; clocks may differ by an hour.
    let since = since.unwrap().to_rfc3339();
    let first = format!(
        "select to_date(right(relname, 8), 'YYYYMMDD')::timestamp at time zone 'UTC'
             - interval '1 hour' = '{since}'
         from pg_class where relname ~ '^cargo_[0-9]{{8}}$' order by relname limit 1"
    );
    assert_eq!(read(&database.shard.pool, &first).await, "true");
}
