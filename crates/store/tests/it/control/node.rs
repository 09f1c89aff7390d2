//! Heartbeats: the living are counted, the dead are buried by whoever beats.

use store::control::node::{Node, beat, leave};
use uuid::Uuid;

use crate::support::Database;

const LEASE: f64 = 10.0;

fn node(number: u128) -> Node {
    Node {
        id: Uuid::from_u128(number),
        name: format!("host:{number}"),
    }
}

async fn known(database: &Database) -> i64 {
    let rows = sqlx::query_scalar("select count(*) from control.node");
    rows.fetch_one(&database.control.pool).await.unwrap()
}

#[tokio::test]
async fn everyone_who_beats_is_counted_until_they_leave() {
    let database = Database::new().await;
    let control = &database.control;
    assert_eq!(beat(control, &node(1), LEASE).await.unwrap(), 1);
    assert_eq!(beat(control, &node(2), LEASE).await.unwrap(), 2);
    assert_eq!(beat(control, &node(1), LEASE).await.unwrap(), 2);
    leave(control, &node(2)).await.unwrap();
    assert_eq!(beat(control, &node(1), LEASE).await.unwrap(), 1);
    assert_eq!(known(&database).await, 1);
}

#[tokio::test]
async fn the_silent_are_not_counted_and_soon_gone() {
    let database = Database::new().await;
    let control = &database.control;
    assert_eq!(beat(control, &node(1), -1.0).await.unwrap(), 1);
    assert_eq!(beat(control, &node(2), LEASE).await.unwrap(), 1);
    assert_eq!(known(&database).await, 1);
    // Who was only late comes back as if nothing had happened.
    assert_eq!(beat(control, &node(1), LEASE).await.unwrap(), 2);
}

#[tokio::test]
async fn many_beat_at_once() {
    let database = Database::new().await;
    for number in 0..20 {
        beat(&database.control, &node(number), -1.0).await.unwrap();
    }
    let beats = (100..120).map(|number| {
        let control = database.control.clone();
        tokio::spawn(async move { beat(&control, &node(number), LEASE).await.unwrap() })
    });
    for beaten in beats.collect::<Vec<_>>() {
        assert!((1..=20).contains(&beaten.await.unwrap()));
    }
    assert_eq!(
        beat(&database.control, &node(100), LEASE).await.unwrap(),
        20
    );
    assert_eq!(known(&database).await, 20);
}
