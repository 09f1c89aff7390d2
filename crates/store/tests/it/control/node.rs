//! Heartbeats: live nodes are counted, and every heartbeat deletes dead nodes.

use store::control::node::{ServingNode, heartbeat, leave};
use test_support::database::TestDatabase;
use uuid::Uuid;

const LEASE_SECONDS: f64 = 10.0;

fn node(number: u128) -> ServingNode {
    ServingNode {
        id: Uuid::from_u128(number),
        name: format!("host:{number}"),
    }
}

async fn count_nodes(database: &TestDatabase) -> i64 {
    let rows = sqlx::query_scalar("select count(*) from control.node");
    rows.fetch_one(&database.control.pool).await.unwrap()
}

#[tokio::test]
async fn a_node_with_heartbeats_is_counted_until_it_leaves() {
    let database = TestDatabase::new().await;
    let control = &database.control;
    assert_eq!(
        heartbeat(control, &node(1), LEASE_SECONDS).await.unwrap(),
        1
    );
    assert_eq!(
        heartbeat(control, &node(2), LEASE_SECONDS).await.unwrap(),
        2
    );
    assert_eq!(
        heartbeat(control, &node(1), LEASE_SECONDS).await.unwrap(),
        2
    );
    leave(control, &node(2)).await.unwrap();
    assert_eq!(
        heartbeat(control, &node(1), LEASE_SECONDS).await.unwrap(),
        1
    );
    assert_eq!(count_nodes(&database).await, 1);
}

#[tokio::test]
async fn a_node_without_heartbeats_is_not_counted_and_soon_deleted() {
    let database = TestDatabase::new().await;
    let control = &database.control;
    assert_eq!(heartbeat(control, &node(1), -1.0).await.unwrap(), 1);
    assert_eq!(
        heartbeat(control, &node(2), LEASE_SECONDS).await.unwrap(),
        1
    );
    assert_eq!(count_nodes(&database).await, 1);
    // A node that was only late is counted again.
    assert_eq!(
        heartbeat(control, &node(1), LEASE_SECONDS).await.unwrap(),
        2
    );
}

#[tokio::test]
async fn many_heartbeats_at_once_are_all_counted() {
    let database = TestDatabase::new().await;
    for number in 0..20 {
        heartbeat(&database.control, &node(number), -1.0)
            .await
            .unwrap();
    }
    let beats = (100..120).map(|number| {
        let control = database.control.clone();
        tokio::spawn(async move {
            heartbeat(&control, &node(number), LEASE_SECONDS)
                .await
                .unwrap()
        })
    });
    for beaten in beats.collect::<Vec<_>>() {
        assert!((1..=20).contains(&beaten.await.unwrap()));
    }
    assert_eq!(
        heartbeat(&database.control, &node(100), LEASE_SECONDS)
            .await
            .unwrap(),
        20
    );
    assert_eq!(count_nodes(&database).await, 20);
}
