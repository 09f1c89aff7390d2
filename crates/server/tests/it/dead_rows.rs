//! An old transaction keeps dead rows in the indexes: no stage reads them repeatedly.

use std::sync::Arc;
use std::time::Duration;

use sqlx::{Connection as _, PgConnection};
use store::Shard;
use workers::WorkerSet;
use workers::stage::Stage as _;

use crate::support::TestService;
use crate::support::encryption::environment_master_keys;
use crate::support::http::chat_request;

/// How many dead rows of each kind there are.
const DEAD_ROWS_PER_KIND: i64 = 50_000;
/// How many index entries a step may read beside [`DEAD`] dead ones.
const MAX_ENTRIES_READ: i64 = 3_000;

const ENTRIES_READ_QUERY: &str =
    "select coalesce(sum(idx_tup_read), 0)::bigint from pg_stat_user_indexes
    where relname in ('waiting', 'usage_delta', 'callback_delta', 'idempotency')";

/// Index entries read since the last call, by the one connection that the stages have.
async fn entries_read(shard: &Shard, last: &mut i64) -> i64 {
    sqlx::raw_sql("select pg_stat_force_next_flush()")
        .execute(&shard.pool)
        .await
        .unwrap();
    let all: i64 = sqlx::query_scalar(ENTRIES_READ_QUERY)
        .fetch_one(&shard.pool)
        .await
        .unwrap();
    let read = all - *last;
    *last = all;
    read
}

async fn execute(connection: &mut PgConnection, statement: &str) {
    sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned()))
        .execute(connection)
        .await
        .unwrap();
}

/// Inserts rows that the test deletes while the old transaction still sees them: some loaded an
/// hour ago, some past their deadline, and counts.
async fn insert_rows_to_delete(connection: &mut PgConnection, now: &str) {
    for back in ["1 hour", "30 hours"] {
        let rows = format!(
            "insert into shard.waiting (lane, organization, cargo)
             select (select min(id) from shard.lane), gen_random_uuid(),
                 (left(shard.id_floor('{now}'::timestamptz - interval '{back}')::text, 13)
                     || right(gen_random_uuid()::text, 23))::uuid
             from generate_series(1, {DEAD_ROWS_PER_KIND})"
        );
        execute(connection, &rows).await;
    }
    let counts = format!(
        "insert into shard.usage_delta
             (hour, project, api_key, model, event, count, input_tokens, output_tokens)
         select now(), '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}'
         from generate_series(1, {DEAD_ROWS_PER_KIND})"
    );
    execute(connection, &counts).await;
    execute(
        connection,
        "analyze shard.waiting; analyze shard.usage_delta",
    )
    .await;
}

#[tokio::test]
async fn steps_read_no_dead_rows_while_an_old_transaction_is_open() {
    let service = TestService::new().await;
    let customer = service.create_customer().await;
    service
        .load(&customer, &chat_request("makes the lane", None))
        .await;
    let url = service.north_url();
    let now = service.now().to_rfc3339();
    let mut writer = PgConnection::connect(&url).await.unwrap();
    insert_rows_to_delete(&mut writer, &now).await;
    let mut old = PgConnection::connect(&url).await.unwrap();
    execute(
        &mut old,
        "begin isolation level repeatable read; select from shard.waiting limit 1",
    )
    .await;
    let gone = "delete from shard.waiting w using shard.lane l
                where not exists (select from shard.cargo c where c.id = w.cargo);
                delete from shard.usage_delta";
    execute(&mut writer, gone).await;

    // One connection, so that its reads are in the statistics when the test asks for them.
    let shard = Shard::connect_lazily("north", &url, 1, service.clock.clone()).unwrap();
    let shard = shard.with_master_keys(environment_master_keys());
    let shard = Arc::new(shard);
    let mut workers: WorkerSet = service.join_worker_set_on(shard.clone()).await;
    let mut last = 0;
    // The first steps find their start positions.
    for _ in 0..40 {
        let now = service.clock.advance(Duration::from_secs(1));
        workers.gather.step(now).await.unwrap();
        workers.sweep.step(now).await.unwrap();
    }
    for _ in 0..12 {
        let now = service.clock.advance(Duration::from_mins(1));
        workers.gather.step(now).await.unwrap();
        workers.sweep.step(now).await.unwrap();
    }
    entries_read(&shard, &mut last).await;
    for (what, pause) in [
        ("a second", Duration::from_secs(1)),
        ("half a minute", Duration::from_secs(31)),
        ("two minutes", Duration::from_mins(2)),
    ] {
        let now = service.clock.advance(pause);
        workers.gather.step(now).await.unwrap();
        workers.sweep.step(now).await.unwrap();
        let read = entries_read(&shard, &mut last).await;
        assert!(
            read < MAX_ENTRIES_READ,
            "after {what}: {read} index entries"
        );
    }
    execute(&mut old, "rollback").await;
}
