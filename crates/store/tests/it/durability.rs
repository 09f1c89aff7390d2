//! What a real server says about the durability of its commits.

use domain::durability::DurabilityFacts;
use store::{Control, doctor, durability};
use test_support::database::TestDatabase;

async fn facts(url: &str) -> DurabilityFacts {
    let control = Control::connect_lazily(url, 1).unwrap();
    durability::read_facts(&control.pool).await.unwrap()
}

#[tokio::test]
async fn a_server_without_a_standby_says_so() {
    let database = TestDatabase::new().await;
    let facts = facts(&database.url()).await;
    assert_eq!(facts.synchronous_commit, "on");
    assert_eq!(facts.synchronous_standby_names, "");
    assert_eq!(facts.synchronous_standbys, Some(0));
    for (name, value) in [
        ("fsync", facts.fsync),
        ("full_page_writes", facts.full_page_writes),
        ("data_checksums", facts.data_checksums),
    ] {
        let set = sqlx::query_scalar::<_, bool>("select current_setting($1)::bool").bind(name);
        assert_eq!(
            set.fetch_one(&database.shard.pool).await.unwrap(),
            value,
            "{name}"
        );
    }
}

#[tokio::test]
async fn the_setting_of_our_own_session_counts() {
    let database = TestDatabase::new().await;
    for value in ["off", "local", "remote_apply"] {
        let url = format!("{}?options=-csynchronous_commit={value}", database.url());
        assert_eq!(facts(&url).await.synchronous_commit, value);
    }
}

#[tokio::test]
async fn a_slot_that_keeps_no_rows_is_not_reported() {
    let database = TestDatabase::new().await;
    let pool = &database.shard.pool;
    let slot = format!("slot_{:032x}", rand::random::<u128>());
    sqlx::query("select pg_create_physical_replication_slot($1)")
        .bind(&slot)
        .execute(pool)
        .await
        .unwrap();
    let holds = doctor::list_replication_holds(pool, 0).await;
    sqlx::query("select pg_drop_replication_slot($1)")
        .bind(&slot)
        .execute(pool)
        .await
        .unwrap();
    assert_eq!(holds.unwrap(), []);
}

/// PostgreSQL 15 does not bring an unlogged sequence to the disk of a standby: after its promotion
/// every use fails.
#[tokio::test]
async fn no_sequence_is_lost_when_a_standby_is_promoted() {
    let database = TestDatabase::new().await;
    let unlogged =
        "select relname::text from pg_class where relkind = 'S' and relpersistence = 'u'";
    let unlogged = sqlx::query_scalar::<_, String>(unlogged).fetch_all(&database.shard.pool);
    assert_eq!(unlogged.await.unwrap(), Vec::<String>::new());
}
