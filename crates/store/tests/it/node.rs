//! Leases and claims: a claim is made by a living node, and freed once its node is dead.

use domain::lane::Lane;
use domain::model::Kind;
use domain::route::Via;
use sqlx::types::Uuid;
use store::shard::lane;
use store::shard::node::{self, Claim};

use crate::support::Database;

/// By the server's own clock: one that is alive, and one that is overdue at once.
const LONG: f64 = 3600.0;
const OVERDUE: f64 = -1.0;

async fn with_lane() -> Database {
    let database = Database::new().await;
    let lane = Lane {
        provider: "mock".to_owned(),
        model: "m".to_owned(),
        kind: Kind::Chat,
        via: Via::Batch,
    };
    lane::ensure(&database.shard, &lane).await.unwrap();
    database
}

async fn join(database: &Database, number: u128, seconds: f64) -> Claim {
    let node = Uuid::from_u128(number);
    node::join(&database.shard, node, &format!("node {number}"), seconds)
        .await
        .unwrap()
}

async fn lanes_of(database: &Database, claim: Claim) -> usize {
    lane::claim_free(&database.shard, claim)
        .await
        .unwrap()
        .len()
}

#[tokio::test]
async fn a_dead_node_claims_nothing() {
    let database = with_lane().await;
    let overdue = join(&database, 1, OVERDUE).await;
    assert_eq!(lanes_of(&database, overdue).await, 0);
    let former = join(&database, 2, LONG).await;
    // The same process again, or another with its id: the epoch tells them apart.
    let joined = join(&database, 2, LONG).await;
    assert_eq!(lanes_of(&database, former).await, 0);
    assert_eq!(lanes_of(&database, joined).await, 1);
}

#[tokio::test]
async fn what_a_dead_node_had_claimed_is_free_again() {
    let database = with_lane().await;
    let dead = join(&database, 1, LONG).await;
    assert_eq!(lanes_of(&database, dead).await, 1);
    node::renew(&database.shard, dead, OVERDUE).await.unwrap();
    let names = node::bury_dead(&database.shard).await.unwrap();
    assert_eq!(names, ["node 1"]);
    assert!(node::renew(&database.shard, dead, LONG).await.is_err());
    let heir = join(&database, 2, LONG).await;
    assert_eq!(lanes_of(&database, heir).await, 1);
}

#[tokio::test]
async fn an_orphan_of_any_kind_of_past_is_freed() {
    let database = with_lane().await;
    // Claimed by a node that no row knows, and by an epoch that is over.
    sqlx::query("update shard.lane set node = gen_random_uuid(), epoch = 7")
        .execute(&database.shard.pool)
        .await
        .unwrap();
    assert_eq!(node::free_orphans(&database.shard).await.unwrap(), 1);
    let former = join(&database, 1, LONG).await;
    assert_eq!(lanes_of(&database, former).await, 1);
    join(&database, 1, LONG).await;
    assert_eq!(node::free_orphans(&database.shard).await.unwrap(), 1);
}

#[tokio::test]
async fn a_node_that_leaves_frees_every_epoch_of_its_own() {
    let database = with_lane().await;
    let former = join(&database, 1, LONG).await;
    assert_eq!(lanes_of(&database, former).await, 1);
    let joined = join(&database, 1, LONG).await;
    node::leave(&database.shard, joined).await.unwrap();
    assert_eq!(node::free_orphans(&database.shard).await.unwrap(), 0);
    let heir = join(&database, 2, LONG).await;
    assert_eq!(lanes_of(&database, heir).await, 1);
}

#[tokio::test]
async fn a_claim_under_way_holds_burial_up_and_never_renewal() {
    let database = with_lane().await;
    let slow = join(&database, 1, LONG).await;
    let mut tx = database.shard.begin().await.unwrap();
    sqlx::query("select from shard.node where node = $1 for key share")
        .bind(slow.node)
        .execute(&mut *tx)
        .await
        .unwrap();
    // Renewal does not wait for it.
    node::renew(&database.shard, slow, OVERDUE).await.unwrap();
    assert!(node::bury_dead(&database.shard).await.unwrap().is_empty());
    tx.commit().await.unwrap();
    assert_eq!(node::bury_dead(&database.shard).await.unwrap(), ["node 1"]);
}

#[tokio::test]
async fn the_sessions_of_a_dead_node_are_ended() {
    let database = with_lane().await;
    let dead = join(&database, 1, OVERDUE).await;
    let options = store::PoolOptions {
        connections: 1,
        application: node::session_name(dead.node),
        interceptor: None,
    };
    let pool = store::Pool::new(&database.url(), store::Class::Stage, options).unwrap();
    let mut tx = pool.begin().await.unwrap();
    sqlx::query("select from shard.lane for update")
        .execute(&mut *tx)
        .await
        .unwrap();
    node::bury_dead(&database.shard).await.unwrap();
    // Its row lock is gone with its session.
    let heir = join(&database, 2, LONG).await;
    let mut claimed = 0;
    while claimed == 0 {
        claimed = lanes_of(&database, heir).await;
    }
    assert!(tx.commit().await.is_err());
}
