//! What doctor asks, against a real server.

use domain::time::Clock as _;
use sqlx::Executor as _;
use store::Control;
use store::doctor::{self, Trouble};

use crate::support::Database;

#[tokio::test]
async fn a_server_tells_how_it_is_set_up() {
    let database = Database::new().await;
    let server = doctor::server(&database.shard.pool).await.unwrap();
    assert!(server.version >= 150_000 && server.most_connections > 0);
    assert!(!server.in_recovery);
    let loose = format!("{}?options=-csynchronous_commit=off", database.url());
    let loose = Control::connect_lazily(&loose, 1).unwrap();
    let server = doctor::server(&loose.pool).await.unwrap();
    assert_eq!(server.synchronous_commit, "off");
}

#[tokio::test]
async fn a_transaction_left_open_is_found() {
    let database = Database::new().await;
    let pool = &database.shard.pool;
    let mut open = database.shard.begin().await.unwrap();
    open.execute("select 1").await.unwrap();
    let now = doctor::now(pool).await.unwrap();
    let found = doctor::open_transactions(pool, now).await.unwrap();
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
        doctor::open_transactions(pool, before_all).await.unwrap(),
        []
    );
    open.rollback().await.unwrap();
}

#[tokio::test]
async fn a_closed_door_says_why() {
    let database = Database::new().await;
    doctor::knock(&database.url()).await.unwrap();
    let missing = doctor::knock(&format!("{}_missing", database.url()))
        .await
        .unwrap_err();
    assert_eq!(doctor::trouble(&missing), Trouble::NoDatabase);
    // Taken and let go again: nobody listens there.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let nobody = doctor::knock(&format!("postgres://{free}/x"))
        .await
        .unwrap_err();
    assert_eq!(doctor::trouble(&nobody), Trouble::Unreachable);
}
