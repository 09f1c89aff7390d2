//! The checks of doctor, against a real server.

use domain::time::Clock as _;
use sqlx::Executor as _;
use store::doctor::{self, ConnectionFailureKind};
use test_support::database::TestDatabase;

#[tokio::test]
async fn a_server_tells_how_it_is_set_up() {
    let database = TestDatabase::new().await;
    let server = doctor::read_server_info(&database.shard.pool)
        .await
        .unwrap();
    assert!(server.version >= 150_000 && server.max_connections > 0);
}

#[tokio::test]
async fn a_transaction_left_open_is_found() {
    let database = TestDatabase::new().await;
    let pool = &database.shard.pool;
    let mut open = database.shard.begin().await.unwrap();
    open.execute("select 1").await.unwrap();
    let now = doctor::read_server_time(pool).await.unwrap();
    let found = doctor::list_open_transactions(pool, now).await.unwrap();
    assert!(
        found.iter().any(|open| open.state == "idle in transaction"),
        "{found:?}"
    );
    assert!(
        found.iter().all(|open| open.name.starts_with("process ")),
        "{found:?}"
    );
    let before_all = database.clock.now();
    assert_eq!(
        doctor::list_open_transactions(pool, before_all)
            .await
            .unwrap(),
        []
    );
    open.rollback().await.unwrap();
}

#[tokio::test]
async fn a_failed_connection_says_why() {
    let database = TestDatabase::new().await;
    doctor::try_connect(&database.url()).await.unwrap();
    let missing = doctor::try_connect(&format!("{}_missing", database.url()))
        .await
        .unwrap_err();
    assert_eq!(
        doctor::classify_connection_failure(&missing),
        ConnectionFailureKind::NoDatabase
    );
    let unreachable = doctor::try_connect("postgres://127.0.0.1:1/x")
        .await
        .unwrap_err();
    assert_eq!(
        doctor::classify_connection_failure(&unreachable),
        ConnectionFailureKind::Unreachable
    );
}
