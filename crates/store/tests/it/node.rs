//! Leases and claims: only a live node can claim, and the claims of a dead node are freed.

use domain::lane::Lane;
use domain::model::ModelKind;
use domain::route::InferenceMode;
use sqlx::types::Uuid;
use store::shard::lane;
use store::shard::node::{self, Claim};
use test_support::database::TestDatabase;

/// By the database server's clock: a lease that stays alive, and one that has expired already.
const LIVE_LEASE_SECONDS: f64 = 3600.0;
const EXPIRED_LEASE_SECONDS: f64 = -1.0;

async fn with_lane() -> TestDatabase {
    let database = TestDatabase::new().await;
    let lane = Lane {
        provider: "mock".to_owned(),
        model: "m".to_owned(),
        kind: ModelKind::Chat,
        via: InferenceMode::Batch,
    };
    lane::ensure(&database.shard, &lane).await.unwrap();
    database
}

async fn join(database: &TestDatabase, number: u128, seconds: f64) -> Claim {
    let node = Uuid::from_u128(number);
    node::join(&database.shard, node, &format!("node {number}"), seconds)
        .await
        .unwrap()
}

async fn claim_lanes(database: &TestDatabase, claim: Claim) -> usize {
    lane::claim_free(&database.shard, claim)
        .await
        .unwrap()
        .len()
}

#[tokio::test]
async fn a_dead_node_claims_nothing() {
    let database = with_lane().await;
    let overdue = join(&database, 1, EXPIRED_LEASE_SECONDS).await;
    assert_eq!(claim_lanes(&database, overdue).await, 0);
    let former = join(&database, 2, LIVE_LEASE_SECONDS).await;
    // The same process again, or another with its id: they differ in the epoch.
    let joined = join(&database, 2, LIVE_LEASE_SECONDS).await;
    assert_eq!(claim_lanes(&database, former).await, 0);
    assert_eq!(claim_lanes(&database, joined).await, 1);
}

#[tokio::test]
async fn what_a_dead_node_had_claimed_is_free_again() {
    let database = with_lane().await;
    let dead = join(&database, 1, LIVE_LEASE_SECONDS).await;
    assert_eq!(claim_lanes(&database, dead).await, 1);
    node::renew(&database.shard, dead, EXPIRED_LEASE_SECONDS)
        .await
        .unwrap();
    let names = node::fence_expired_nodes(&database.shard).await.unwrap();
    assert_eq!(names, ["node 1"]);
    assert!(
        node::renew(&database.shard, dead, LIVE_LEASE_SECONDS)
            .await
            .is_err()
    );
    let heir = join(&database, 2, LIVE_LEASE_SECONDS).await;
    assert_eq!(claim_lanes(&database, heir).await, 1);
}

#[tokio::test]
async fn an_orphaned_claim_is_freed() {
    let database = with_lane().await;
    // Claimed by a node without a row, and by an old epoch.
    sqlx::query("update shard.lane set node = gen_random_uuid(), epoch = 7")
        .execute(&database.shard.pool)
        .await
        .unwrap();
    assert_eq!(
        node::free_orphaned_claims(&database.shard).await.unwrap(),
        1
    );
    let former = join(&database, 1, LIVE_LEASE_SECONDS).await;
    assert_eq!(claim_lanes(&database, former).await, 1);
    join(&database, 1, LIVE_LEASE_SECONDS).await;
    assert_eq!(
        node::free_orphaned_claims(&database.shard).await.unwrap(),
        1
    );
}

#[tokio::test]
async fn a_node_that_leaves_frees_every_epoch_of_its_own() {
    let database = with_lane().await;
    let former = join(&database, 1, LIVE_LEASE_SECONDS).await;
    assert_eq!(claim_lanes(&database, former).await, 1);
    let joined = join(&database, 1, LIVE_LEASE_SECONDS).await;
    node::leave(&database.shard, joined).await.unwrap();
    assert_eq!(
        node::free_orphaned_claims(&database.shard).await.unwrap(),
        0
    );
    let heir = join(&database, 2, LIVE_LEASE_SECONDS).await;
    assert_eq!(claim_lanes(&database, heir).await, 1);
}

#[tokio::test]
async fn a_claim_in_flight_delays_fencing_and_never_renewal() {
    let database = with_lane().await;
    let slow = join(&database, 1, LIVE_LEASE_SECONDS).await;
    let mut tx = database.shard.begin().await.unwrap();
    sqlx::query("select from shard.node where node = $1 for key share")
        .bind(slow.node)
        .execute(&mut *tx)
        .await
        .unwrap();
    // Renewal does not wait for it.
    node::renew(&database.shard, slow, EXPIRED_LEASE_SECONDS)
        .await
        .unwrap();
    assert!(
        node::fence_expired_nodes(&database.shard)
            .await
            .unwrap()
            .is_empty()
    );
    tx.commit().await.unwrap();
    assert_eq!(
        node::fence_expired_nodes(&database.shard).await.unwrap(),
        ["node 1"]
    );
}

#[tokio::test]
async fn the_sessions_of_a_dead_node_are_ended() {
    let database = with_lane().await;
    let dead = join(&database, 1, EXPIRED_LEASE_SECONDS).await;
    let options = store::PoolOptions {
        connections: 1,
        application: node::session_name(dead.node),
        interceptor: None,
    };
    let pool = store::Pool::new(&database.url(), store::WorkloadClass::Stage, options).unwrap();
    let mut tx = pool.begin().await.unwrap();
    sqlx::query("select from shard.lane for update")
        .execute(&mut *tx)
        .await
        .unwrap();
    node::fence_expired_nodes(&database.shard).await.unwrap();
    // Its row lock is gone with its session.
    let heir = join(&database, 2, LIVE_LEASE_SECONDS).await;
    let mut claimed = 0;
    while claimed == 0 {
        claimed = claim_lanes(&database, heir).await;
    }
    assert!(tx.commit().await.is_err());
}
