//! An old transaction keeps every removed row in the indexes: no stage reads them again and again.

use std::sync::Arc;
use std::time::Duration;

use sqlx::{Connection as _, PgConnection};
use store::Shard;
use workers::Crew;
use workers::stage::Stage as _;

use crate::support::Service;
use crate::support::http::chat;

/// Of each kind.
const DEAD: i64 = 50_000;
/// What a step may read of an index that holds [`DEAD`] dead entries.
const FEW: i64 = 3_000;

const INDEXES: &str = "select coalesce(sum(idx_tup_read), 0)::bigint from pg_stat_user_indexes
    where relname in ('waiting', 'usage_delta', 'callback_delta', 'idempotency')";

/// Index entries read since the last call, by the one connection that the stages have.
async fn entries_read(shard: &Shard, last: &mut i64) -> i64 {
    sqlx::raw_sql("select pg_stat_force_next_flush()")
        .execute(&shard.pool)
        .await
        .unwrap();
    let all: i64 = sqlx::query_scalar(INDEXES)
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

/// Rows that were removed and that the old transaction may still see: some loaded an hour ago,
/// some past their deadline, and counts.
async fn leave_dead_rows(connection: &mut PgConnection, now: &str) {
    for back in ["1 hour", "30 hours"] {
        let rows = format!(
            "insert into shard.waiting (lane, organization, cargo)
             select (select min(id) from shard.lane), gen_random_uuid(),
                 (left(shard.id_floor('{now}'::timestamptz - interval '{back}')::text, 13)
                     || right(gen_random_uuid()::text, 23))::uuid
             from generate_series(1, {DEAD})"
        );
        execute(connection, &rows).await;
    }
    let counts = format!(
        "insert into shard.usage_delta
             (hour, project, api_key, model, event, count, input_tokens, output_tokens)
         select now(), '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}'
         from generate_series(1, {DEAD})"
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
    let service = Service::new().await;
    let customer = service.customer().await;
    service.load(&customer, &chat("makes the lane", None)).await;
    let url = service.north_url();
    let now = service.now().to_rfc3339();
    let mut writer = PgConnection::connect(&url).await.unwrap();
    leave_dead_rows(&mut writer, &now).await;
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

    // One connection, so that what it reads can be asked for.
    let shard = Shard::connect_lazily("north", &url, 1, service.clock.clone()).unwrap();
    let shard = Arc::new(shard);
    let mut crew: Crew = service.crew_on(shard.clone()).await;
    let mut last = 0;
    // The first steps learn where to start.
    for _ in 0..40 {
        let now = service.clock.advance(Duration::from_secs(1));
        crew.gather.step(now).await.unwrap();
        crew.sweep.step(now).await.unwrap();
    }
    for _ in 0..12 {
        let now = service.clock.advance(Duration::from_mins(1));
        crew.gather.step(now).await.unwrap();
        crew.sweep.step(now).await.unwrap();
    }
    entries_read(&shard, &mut last).await;
    for (what, pause) in [
        ("a second", Duration::from_secs(1)),
        ("half a minute", Duration::from_secs(31)),
        ("two minutes", Duration::from_mins(2)),
    ] {
        let now = service.clock.advance(pause);
        crew.gather.step(now).await.unwrap();
        crew.sweep.step(now).await.unwrap();
        let read = entries_read(&shard, &mut last).await;
        assert!(read < FEW, "after {what}: {read} index entries");
    }
    execute(&mut old, "rollback").await;
}
