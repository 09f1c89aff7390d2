//! Every migration, beside a program of the version before: its rows stay as they are, its
//! statements still work, and its transactions do not wait.

use std::cell::Cell;
use std::collections::BTreeMap;

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use store::Pool;
use store::migrate::{self, SchemaName};
use test_support::database::TestDatabase;

const SHARD_ROWS: &str = include_str!("migrations/shard_rows.sql");
const CONTROL_ROWS: &str = include_str!("migrations/control_rows.sql");
/// Tables of migrations themselves.
const OWN_TABLES: [&str; 3] = ["_migrations", "online_step", "schema_floor"];
/// Transactions of a concurrent writer.
const SHARD_WRITES: [&str; 3] = [
    "update shard.cargo set attempt = attempt; update shard.request set codec = codec",
    "update shard.waiting set lane = lane",
    "update shard.batch set takeovers = takeovers",
];
const CONTROL_WRITES: [&str; 3] = [
    "update control.api_key set is_active = is_active",
    "update control.session set seen_at = seen_at",
    "insert into control.throttle (subject, failures, first_at)
         values ('00000000000000000000000000000000'::bytea, 1, '2026-01-05');
     delete from control.throttle where subject = '00000000000000000000000000000000'::bytea",
];

#[tokio::test]
async fn rows_survive_every_migration_of_a_shard() {
    let database = TestDatabase::empty().await;
    let pool = &database.shard.pool;
    check_migrations(&database, pool, SchemaName::Shard, SHARD_ROWS).await;
}

#[tokio::test]
async fn rows_survive_every_migration_of_control() {
    let database = TestDatabase::empty().await;
    let pool = &database.control.pool;
    check_migrations(&database, pool, SchemaName::Control, CONTROL_ROWS).await;
}

/// Applies the migrations one by one, from the one after the first for which there are rows.
async fn check_migrations(database: &TestDatabase, pool: &Pool, schema: SchemaName, rows: &str) {
    let samples = read_samples(rows);
    let first = *samples.keys().next().unwrap();
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();
    let mut applied = 0;
    while applied < first {
        applied = apply_next(pool, schema).await;
    }
    assert_eq!(applied, first);
    let mut set = 0;
    loop {
        set += 1;
        insert_samples(&mut connection, &samples, applied, set).await;
        let before = read_tables(&mut connection, schema).await;
        let before_rows = read_rows(&mut connection, schema, &before).await;
        assert!(before_rows.len() > 10);

        let next = apply_beside_a_writer(database, pool, schema).await;
        if next == applied {
            break;
        }
        let after_rows = read_rows(&mut connection, schema, &before).await;
        assert_eq!(before_rows, after_rows, "migration {next} changed rows");
        // The version before still writes.
        set += 1;
        insert_samples(&mut connection, &samples, applied, set).await;
        applied = next;
    }
    let status = migrate::read_status(pool, schema).await.unwrap();
    assert_eq!(status.pending, 0);
}

/// The number of the newest migration then.
async fn apply_next(pool: &Pool, schema: SchemaName) -> i64 {
    migrate::apply(pool, schema, 1).await.unwrap();
    let status = migrate::read_status(pool, schema).await.unwrap();
    status.applied.unwrap()
}

/// Beside a writer whose transactions never wait for a lock longer than a second. They change
/// nothing. Each takes its locks in the order of the migrations: others are repeated, which the
/// tests of online steps and `chaos upgrade` show.
async fn apply_beside_a_writer(database: &TestDatabase, pool: &Pool, schema: SchemaName) -> i64 {
    let is_done = Cell::new(false);
    let applying = async {
        let next = apply_next(pool, schema).await;
        is_done.set(true);
        next
    };
    let writing = async {
        let mut writer = PgConnection::connect(&database.url()).await.unwrap();
        writer.execute("set lock_timeout = '1s'").await.unwrap();
        while !is_done.get() {
            for statements in match schema {
                SchemaName::Control => CONTROL_WRITES,
                SchemaName::Shard => SHARD_WRITES,
            } {
                writer.execute(statements).await.unwrap();
            }
        }
    };
    let (next, ()) = tokio::join!(applying, writing);
    next
}

/// Statements by the migration that they need.
fn read_samples(rows: &str) -> BTreeMap<i64, String> {
    let sections = rows.split("-- since ").skip(1);
    let sections = sections.map(|section| {
        let (number, statements) = section.split_once('\n').unwrap();
        (number.trim().parse().unwrap(), statements.to_owned())
    });
    sections.collect()
}

async fn insert_samples(
    connection: &mut PgConnection,
    samples: &BTreeMap<i64, String>,
    applied: i64,
    set: usize,
) {
    for (since, statements) in samples.range(..=applied) {
        let statements = statements.replace("{set}", &format!("{set:04}"));
        let statements = statements.replace("{number}", &set.to_string());
        let done = sqlx::raw_sql(AssertSqlSafe(statements))
            .execute(&mut *connection)
            .await;
        let failure = done.err().map(|error| error.to_string());
        assert_eq!(failure, None, "rows of {since} with migration {applied}");
    }
}

/// The columns of each table, without partitions.
async fn read_tables(
    connection: &mut PgConnection,
    schema: SchemaName,
) -> BTreeMap<String, String> {
    let tables: Vec<(String, String)> = sqlx::query_as(
        "select c.relname::text, string_agg(quote_ident(a.attname), ', ' order by a.attnum)
         from pg_class c join pg_attribute a on a.attrelid = c.oid
         where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
             and a.attnum > 0 and not a.attisdropped
         group by 1",
    )
    .bind(schema.as_str())
    .fetch_all(connection)
    .await
    .unwrap();
    let is_sampled = |(name, _): &(String, String)| !OWN_TABLES.contains(&name.as_str());
    tables.into_iter().filter(is_sampled).collect()
}

/// The rows of each table that has any, with these columns only.
async fn read_rows(
    connection: &mut PgConnection,
    schema: SchemaName,
    tables: &BTreeMap<String, String>,
) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for (table, columns) in tables {
        let schema = schema.as_str();
        let query = format!("select row({columns})::text from {schema}.{table} order by 1");
        let rows: Vec<String> = sqlx::query_scalar(AssertSqlSafe(query))
            .fetch_all(&mut *connection)
            .await
            .unwrap();
        if !rows.is_empty() {
            found.insert(table.clone(), rows);
        }
    }
    found
}
