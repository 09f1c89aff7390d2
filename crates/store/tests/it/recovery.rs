//! The pause of a restored database: what it stops, and how it ends.

use chrono::TimeDelta;
use domain::bucket_marker::{BucketMarker, DatabaseOrigin};
use domain::id::{BatchId, Berth};
use domain::time::{Clock as _, Timestamp};
use sqlx::types::Uuid;
use store::Shard;
use store::shard::bucket_marker::{self, BucketMarkerState};
use store::shard::recovery::{self, LoadPermission};
use test_support::database::TestDatabase;

fn marker(generation: i64) -> BucketMarker {
    BucketMarker {
        generation,
        nonce: Uuid::from_u128(1),
    }
}

async fn begin_generation(database: &TestDatabase) -> Option<i64> {
    let (shard, now) = (&database.shard, database.clock.now());
    let state = bucket_marker::read_state(shard).await.unwrap();
    let next = bucket_marker::begin_generation(shard, &state, now, now).await;
    next.unwrap().map(|marker| marker.generation)
}

async fn is_held(shard: &Shard) -> bool {
    bucket_marker::find_hold(shard).await.unwrap().is_some()
}

async fn permission(shard: &Shard) -> LoadPermission {
    recovery::read_load_permission(shard).await.unwrap()
}

async fn execute(shard: &Shard, statement: &'static str) {
    sqlx::raw_sql(statement).execute(&shard.pool).await.unwrap();
}

#[tokio::test]
async fn a_paused_shard_takes_no_loads_and_writes_no_marker_until_it_is_accepted() {
    let database = TestDatabase::new().await;
    let (shard, now) = (&database.shard, database.clock.now());
    assert_eq!(begin_generation(&database).await, Some(1));
    assert_eq!(permission(shard).await, LoadPermission::Allowed);

    let pause = recovery::pause(shard, "it is older", Some(marker(7)), None, now).await;
    assert!(pause.unwrap());
    assert_eq!(permission(shard).await, LoadPermission::Paused);
    assert_eq!(begin_generation(&database).await, None);
    assert!(is_held(shard).await);
    // The removal of files cannot be allowed before the database is accepted.
    assert!(!bucket_marker::confirm_removal(shard).await.unwrap());
    let state = recovery::read_state(shard).await.unwrap();
    assert_eq!(state.pause.unwrap().reason, "it is older");
    // When the marker was written.
    assert_eq!(state.known_until, Some(now));

    assert!(recovery::accept(shard, now).await.unwrap());
    assert_eq!(permission(shard).await, LoadPermission::Allowed);
    // Higher than the marker in the bucket, so that another database that writes there pauses.
    assert_eq!(begin_generation(&database).await, Some(9));
    assert!(is_held(shard).await);
    assert!(bucket_marker::confirm_removal(shard).await.unwrap());
}

#[tokio::test]
async fn a_pause_keeps_its_first_reason_and_is_accepted_once() {
    let database = TestDatabase::new().await;
    let (shard, now) = (&database.shard, database.clock.now());
    assert!(!recovery::accept(shard, now).await.unwrap());
    let restored_to = now - TimeDelta::hours(1);
    let first = recovery::pause(shard, "first", None, Some(restored_to), now).await;
    assert!(first.unwrap());
    let second = recovery::pause(shard, "second", None, None, now).await;
    assert!(!second.unwrap());
    let state = recovery::read_state(shard).await.unwrap();
    assert_eq!(state.pause.unwrap().reason, "first");
    assert_eq!(state.known_until, Some(restored_to));
    assert!(recovery::accept(shard, now).await.unwrap());
    assert!(!recovery::accept(shard, now).await.unwrap());
}

#[tokio::test]
async fn loads_wait_for_a_worker_after_the_database_moved() {
    let database = TestDatabase::new().await;
    let shard = &database.shard;
    begin_generation(&database).await;
    execute(
        shard,
        "update shard.bucket_marker set origin = regexp_replace(origin, '/[^/]+/', '/00000000/')",
    )
    .await;
    assert_eq!(permission(shard).await, LoadPermission::Unverified);
    let state = bucket_marker::read_state(shard).await.unwrap();
    let (before, now) = (state.origin.unwrap(), database.clock.now());
    let noticed =
        bucket_marker::record_failover(shard, &before, &state.current, Some(marker(4)), now).await;
    assert!(noticed.unwrap());
    assert_eq!(permission(shard).await, LoadPermission::Allowed);
    assert!(is_held(shard).await);
    // The next node that looks has nothing to notice.
    let again =
        bucket_marker::record_failover(shard, &before, &state.current, Some(marker(4)), now).await;
    assert!(!again.unwrap());
    // A failover does not stop the markers. A worker may still be writing 5 for the dead primary.
    assert_eq!(begin_generation(&database).await, Some(7));
}

/// A process was frozen between the comparison and its marker.
#[tokio::test]
async fn a_marker_is_begun_only_on_the_rows_and_the_server_that_were_compared() {
    let database = TestDatabase::new().await;
    let (shard, now) = (&database.shard, database.clock.now());
    begin_generation(&database).await;
    let compared = bucket_marker::read_state(shard).await.unwrap();
    let begin = |compared: BucketMarkerState| async move {
        let next = bucket_marker::begin_generation(shard, &compared, now, now).await;
        next.unwrap().map(|marker| marker.generation)
    };
    let promoted = DatabaseOrigin::parse("1/00000002/5").unwrap();
    let elsewhere = BucketMarkerState {
        current: promoted,
        ..compared.clone()
    };
    assert_eq!(begin(elsewhere).await, None);
    // A disk snapshot of an earlier moment.
    execute(shard, "update shard.bucket_marker set generation = 0").await;
    assert_eq!(begin(compared.clone()).await, None);
    execute(shard, "update shard.bucket_marker set generation = 1").await;
    assert_eq!(begin(compared).await, Some(2));
}

#[tokio::test]
async fn a_clock_that_is_set_back_stops_no_marker() {
    let database = TestDatabase::new().await;
    let (shard, now) = (&database.shard, database.clock.now());
    begin_generation(&database).await;
    let state = bucket_marker::read_state(shard).await.unwrap();
    let begin = |behind: TimeDelta| {
        let (now, state) = (now - behind, &state);
        let before = now - TimeDelta::seconds(5);
        bucket_marker::begin_generation(shard, state, before, now)
    };
    // Clocks of two processes differ a little.
    assert_eq!(begin(TimeDelta::seconds(1)).await.unwrap(), None);
    assert!(begin(TimeDelta::hours(1)).await.unwrap().is_some());
}

#[tokio::test]
async fn a_pause_by_hand_counts_where_the_server_does_not_show_its_timeline() {
    let database = TestDatabase::new().await;
    let (shard, now) = (&database.shard, database.clock.now());
    execute(
        shard,
        "alter function pg_catalog.pg_control_system() rename to hidden_control_system",
    )
    .await;
    assert!(recovery::read_load_permission(shard).await.is_err());
    let paused = recovery::pause(shard, "by hand", None, None, now).await;
    assert!(paused.unwrap());
    assert_eq!(permission(shard).await, LoadPermission::Paused);
    assert!(recovery::accept(shard, now).await.unwrap());
    assert_eq!(recovery::find_pause(shard).await.unwrap(), None);
}

async fn insert_batch(shard: &Shard, id: BatchId, state: &str, job: Option<&str>) {
    let lane =
        "insert into shard.lane (provider, model, kind, via) values ('p', 'm', 'chat', 'batch')
                on conflict do nothing";
    sqlx::raw_sql(lane).execute(&shard.pool).await.unwrap();
    let insert = "insert into shard.batch (id, lane, cargo, state, job, gathered_at, next_poll_at)
                  select $1, (select min(id) from shard.lane), '{}', $2, $3, now(), now()";
    let inserted = sqlx::query(insert).bind(id.uuid()).bind(state).bind(job);
    inserted.execute(&shard.pool).await.unwrap();
}

#[tokio::test]
async fn a_batch_that_its_provider_has_is_adopted_once() {
    let database = TestDatabase::new().await;
    let shard = &database.shard;
    let batch = |number| BatchId::new(Timestamp::default(), Berth::new(1).unwrap(), number);
    insert_batch(shard, batch(1), "gathered", None).await;
    insert_batch(shard, batch(2), "running", Some("job-2")).await;
    let ids = [batch(1), batch(2), batch(3)];
    let found = recovery::find_batches(shard, &ids).await.unwrap();
    assert_eq!(found.len(), 2);
    let now = database.clock.now();
    for (number, adopted) in [(1, true), (1, false), (2, false), (3, false)] {
        let result = recovery::adopt_batch(shard, batch(number), now).await;
        assert_eq!(result.unwrap(), adopted, "batch {number}");
    }
    let found = recovery::find_batches(shard, &[batch(1)]).await.unwrap();
    assert!(found[0].is_sent && found[0].job.is_none());
}

#[tokio::test]
async fn only_cargo_without_a_row_is_missing() {
    let database = TestDatabase::new().await;
    let ids = [Uuid::from_u128(1), Uuid::from_u128(2)];
    let missing = recovery::find_missing_cargo(&database.shard, &ids).await;
    assert_eq!(missing.unwrap().len(), 2);
    let none = recovery::find_missing_cargo(&database.shard, &[]).await;
    assert!(none.unwrap().is_empty());
}
