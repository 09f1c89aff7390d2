//! A restored database that is older than its bucket: no bytes are removed until an operator
//! confirms.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use domain::file::MediaType;
use outbound::health::DependencyHealth;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use store::Shard;
use store::shard::{bucket_marker, recovery};
use test_support::database::server_url;
use test_support::sample_files;
use workers::WorkerSet;
use workers::stage::{Stage as _, StepResult};

use crate::files_scan::fixture::FileStageFixture;

async fn run_patrol(workers: &mut WorkerSet, fixture: &FileStageFixture) {
    let now = fixture.now();
    while workers.patrol.step(now).await.unwrap() != StepResult::Idle {}
    while workers.sweep_files.step(now).await.unwrap() != StepResult::Idle {}
}

async fn upload_ready_file(fixture: &mut FileStageFixture, length: usize) {
    let file = fixture
        .upload_and_complete(&sample_files::text(length), MediaType::Text)
        .await;
    fixture.scan().await;
    assert_eq!(fixture.status(&file).await, "ready - clean");
}

async fn join_worker_set_on(fixture: &FileStageFixture, shard: &Arc<Shard>) -> WorkerSet {
    let mut parts = fixture.deps.clone();
    parts.shard = shard.clone();
    parts.options.node = uuid::Uuid::from_u64_pair(rand::random(), rand::random());
    WorkerSet::join(parts).await.unwrap()
}

async fn find_hold_reason(shard: &Shard) -> Option<String> {
    let held = bucket_marker::find_hold(shard).await.unwrap();
    held.map(|hold| hold.reason)
}

async fn execute(shard: &Shard, statement: &'static str) {
    sqlx::raw_sql(statement).execute(&shard.pool).await.unwrap();
}

/// Copies the database as it is now. The copy is dropped with the server of the tests.
async fn copy_database(fixture: &FileStageFixture) -> Arc<Shard> {
    let name: String = sqlx::query_scalar("select current_database()::text")
        .fetch_one(&fixture.shard.pool)
        .await
        .unwrap();
    let copy = format!("{name}_copy");
    let server = server_url("postgres");
    let mut connection = PgConnection::connect(&server).await.unwrap();
    for statement in [
        format!("drop database if exists {copy} with (force)"),
        format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'"),
        format!("create database {copy} template {name}"),
    ] {
        let run = sqlx::raw_sql(AssertSqlSafe(statement));
        run.execute(&mut connection).await.unwrap();
    }
    // The pool discards the connections that were terminated.
    for _ in 0..8 {
        let _ = sqlx::raw_sql("select").execute(&fixture.shard.pool).await;
    }
    let url = server_url(&copy);
    Arc::new(Shard::connect_lazily("main", &url, 4, fixture.clock.clone()).unwrap())
}

#[tokio::test]
async fn a_restored_copy_removes_nothing_until_it_is_confirmed() {
    let mut fixture = FileStageFixture::new().await;
    upload_ready_file(&mut fixture, 100).await;
    let mut first = fixture.join_another_worker_set(|files| files).await;
    run_patrol(&mut first, &fixture).await;
    let copy = copy_database(&fixture).await;
    // Another upload follows, which the copy does not contain.
    upload_ready_file(&mut fixture, 200).await;
    fixture.clock.advance(Duration::from_hours(2));
    run_patrol(&mut first, &fixture).await;
    assert_eq!(find_hold_reason(&fixture.shard).await, None);
    assert_eq!(fixture.count_objects().await, (0, 2));

    // The copy is restored, with the same bucket.
    let mut workers = join_worker_set_on(&fixture, &copy).await;
    fixture.clock.advance(Duration::from_hours(2));
    run_patrol(&mut workers, &fixture).await;
    assert_eq!(fixture.count_objects().await, (0, 2));
    let reason = find_hold_reason(&copy).await.unwrap();
    assert!(reason.contains("another database"), "{reason}");

    assert!(bucket_marker::confirm_removal(&copy).await.unwrap());
    fixture.clock.advance(Duration::from_hours(2));
    run_patrol(&mut workers, &fixture).await;
    assert_eq!(
        (find_hold_reason(&copy).await, fixture.count_objects().await),
        (None, (0, 1))
    );
    // Now the first database is behind the bucket.
    fixture.clock.advance(Duration::from_hours(2));
    run_patrol(&mut first, &fixture).await;
    let reason = find_hold_reason(&fixture.shard).await.unwrap();
    assert!(reason.contains("newer than the rows"), "{reason}");
}

#[tokio::test]
async fn rows_that_are_older_than_the_marker_hold_removal() {
    let mut fixture = FileStageFixture::new().await;
    let mut workers = fixture.join_another_worker_set(|files| files).await;
    run_patrol(&mut workers, &fixture).await;
    upload_ready_file(&mut fixture, 100).await;
    for _ in 0..3 {
        fixture.clock.advance(Duration::from_hours(2));
        run_patrol(&mut workers, &fixture).await;
    }
    // As after a disk snapshot from before the upload: the same server, timeline and database.
    execute(
        &fixture.shard,
        "delete from shard.object; delete from shard.file;
         update shard.bucket_marker set generation = 1",
    )
    .await;
    let mut fresh = fixture.join_another_worker_set(|files| files).await;
    fixture.clock.advance(Duration::from_hours(2));
    // Both the process that saw newer rows and a new process hold removal.
    run_patrol(&mut fresh, &fixture).await;
    run_patrol(&mut workers, &fixture).await;
    assert_eq!(fixture.count_objects().await, (0, 1));
    let reason = find_hold_reason(&fixture.shard).await.unwrap();
    assert!(reason.contains("newer than the rows"), "{reason}");
    assert!(
        bucket_marker::confirm_removal(&fixture.shard)
            .await
            .unwrap()
    );
    assert!(
        !bucket_marker::confirm_removal(&fixture.shard)
            .await
            .unwrap()
    );
    fixture.clock.advance(Duration::from_hours(2));
    run_patrol(&mut fresh, &fixture).await;
    assert_eq!(fixture.count_objects().await, (0, 0));
}

#[tokio::test]
async fn another_timeline_holds_removal_also_in_the_middle_of_a_round() {
    let mut fixture = FileStageFixture::new().await;
    upload_ready_file(&mut fixture, 100).await;
    let mut workers = fixture.join_another_worker_set(|files| files).await;
    run_patrol(&mut workers, &fixture).await;
    execute(
        &fixture.shard,
        "delete from shard.object; delete from shard.file;
         update shard.patrol set due_at = 'epoch';
         update shard.bucket_marker set origin = regexp_replace(origin, '/[^/]+/', '/00000000/')",
    )
    .await;
    // Within the minute in which the cached marker of the bucket is used.
    fixture.clock.advance(Duration::from_secs(2));
    run_patrol(&mut workers, &fixture).await;
    assert_eq!(fixture.count_objects().await, (0, 1));
    let reason = find_hold_reason(&fixture.shard).await.unwrap();
    assert!(reason.contains("timeline"), "{reason}");
}

async fn check_recovery(workers: &mut WorkerSet, fixture: &FileStageFixture) -> bool {
    fixture.clock.advance(Duration::from_secs(10));
    workers.recovery.step(fixture.now()).await.unwrap();
    workers.recovery.is_open()
}

async fn find_pause_reason(shard: &Shard) -> Option<String> {
    let pause = recovery::find_pause(shard).await.unwrap();
    pause.map(|pause| pause.reason)
}

#[tokio::test]
async fn a_copy_is_paused_until_it_is_accepted_and_then_the_original_is() {
    let fixture = FileStageFixture::new().await;
    let mut first = fixture.join_another_worker_set(|files| files).await;
    assert!(!first.recovery.is_open(), "before the first comparison");
    assert!(check_recovery(&mut first, &fixture).await);
    let copy = copy_database(&fixture).await;
    assert!(check_recovery(&mut first, &fixture).await);

    let mut workers = join_worker_set_on(&fixture, &copy).await;
    assert!(!check_recovery(&mut workers, &fixture).await);
    let reason = find_pause_reason(&copy).await.unwrap();
    assert!(reason.contains("another database"), "{reason}");
    assert!(recovery::accept(&copy, fixture.now()).await.unwrap());
    assert!(check_recovery(&mut workers, &fixture).await);
    // Accepting is not the permission to remove files.
    assert!(find_hold_reason(&copy).await.is_some());

    assert!(!check_recovery(&mut first, &fixture).await);
    let reason = find_pause_reason(&fixture.shard).await.unwrap();
    assert!(reason.contains("newer than the rows"), "{reason}");
}

#[tokio::test]
async fn a_failover_holds_removal_and_pauses_nothing() {
    let fixture = FileStageFixture::new().await;
    let mut workers = fixture.join_another_worker_set(|files| files).await;
    assert!(check_recovery(&mut workers, &fixture).await);
    // The last marker may be lost with the primary.
    execute(
        &fixture.shard,
        "update shard.bucket_marker set generation = generation - 1,
             origin = regexp_replace(origin, '/[^/]+/', '/00000000/')",
    )
    .await;
    let mut fresh = fixture.join_another_worker_set(|files| files).await;
    assert!(check_recovery(&mut fresh, &fixture).await);
    assert_eq!(find_pause_reason(&fixture.shard).await, None);
    let reason = find_hold_reason(&fixture.shard).await.unwrap();
    assert!(reason.contains("timeline"), "{reason}");
    // The markers go on.
    assert!(check_recovery(&mut fresh, &fixture).await);
    assert!(check_recovery(&mut fresh, &fixture).await);
    assert_eq!(find_pause_reason(&fixture.shard).await, None);
}

/// Otherwise batches that a provider has would be sent again before they are adopted.
#[tokio::test]
async fn the_stages_wait_until_a_failover_is_recorded() {
    let fixture = FileStageFixture::new().await;
    let mut workers = fixture.join_another_worker_set(|files| files).await;
    assert!(check_recovery(&mut workers, &fixture).await);
    execute(
        &fixture.shard,
        "update shard.bucket_marker set origin = regexp_replace(origin, '/[^/]+/', '/00000000/');
         alter table shard.bucket_marker add constraint not_held check (held_at is null)",
    )
    .await;
    let mut fresh = fixture.join_another_worker_set(|files| files).await;
    for _ in 0..3 {
        fixture.clock.advance(Duration::from_secs(1));
        assert!(fresh.recovery.step(fixture.now()).await.is_err());
        assert!(!fresh.recovery.is_open());
    }
    execute(
        &fixture.shard,
        "alter table shard.bucket_marker drop constraint not_held",
    )
    .await;
    assert!(check_recovery(&mut fresh, &fixture).await);
}

/// A restored database may not know this node, and gives it the claim that it had before.
#[tokio::test]
async fn the_stages_wait_for_a_comparison_under_each_new_lease() {
    let fixture = FileStageFixture::new().await;
    let mut workers = fixture.join_another_worker_set(|files| files).await;
    assert!(check_recovery(&mut workers, &fixture).await);
    workers.lease.renew().await.unwrap();
    assert!(workers.recovery.is_open());
    execute(&fixture.shard, "delete from shard.node").await;
    workers.lease.renew().await.unwrap();
    assert!(!workers.recovery.is_open());
    // Not only when the next comparison is due.
    workers.recovery.step(fixture.now()).await.unwrap();
    assert!(workers.recovery.is_open());
}

#[tokio::test]
async fn a_pause_by_hand_counts_where_rows_and_bucket_cannot_be_compared() {
    let fixture = FileStageFixture::new().await;
    let mut workers = fixture.join_another_worker_set(|files| files).await;
    let (shard, now) = (&fixture.shard, fixture.now());
    execute(
        shard,
        "update shard.bucket_marker set origin = 'unreadable'",
    )
    .await;
    assert!(check_recovery(&mut workers, &fixture).await);
    let paused = recovery::pause(shard, "by hand", None, None, now).await;
    assert!(paused.unwrap());
    // Also in the comparison of every minute.
    for _ in 0..7 {
        assert!(!check_recovery(&mut workers, &fixture).await);
    }
    assert!(recovery::accept(shard, fixture.now()).await.unwrap());
    assert!(check_recovery(&mut workers, &fixture).await);
}

async fn read_generation(shard: &Shard) -> i64 {
    let state = bucket_marker::read_state(shard).await.unwrap();
    state.marker.generation
}

#[tokio::test]
async fn rows_never_pass_a_bucket_that_cannot_be_read() {
    let fixture = FileStageFixture::new().await;
    let mut workers = fixture.join_another_worker_set(|files| files).await;
    for _ in 0..3 {
        assert!(check_recovery(&mut workers, &fixture).await);
    }
    let newest = read_generation(&fixture.shard).await;
    // As after a disk snapshot from before: the same server, timeline and database.
    execute(
        &fixture.shard,
        "update shard.bucket_marker set generation = 1",
    )
    .await;
    let away = DependencyHealth::Unreachable("away".to_owned());
    fixture.health.send_modify(|health| health.store = away);
    let mut fresh = fixture.join_another_worker_set(|files| files).await;
    for _ in 0..newest + 2 {
        assert!(check_recovery(&mut fresh, &fixture).await);
    }
    let well = DependencyHealth::Healthy;
    fixture.health.send_modify(|health| health.store = well);
    assert!(!check_recovery(&mut fresh, &fixture).await);
    let reason = find_pause_reason(&fixture.shard).await.unwrap();
    assert!(reason.contains("newer than the rows"), "{reason}");
}

#[tokio::test]
async fn a_clock_that_is_set_back_hides_no_pause() {
    let fixture = FileStageFixture::new().await;
    let mut workers = fixture.join_another_worker_set(|files| files).await;
    assert!(check_recovery(&mut workers, &fixture).await);
    let now = fixture.now();
    let paused = recovery::pause(&fixture.shard, "by hand", None, None, now).await;
    assert!(paused.unwrap());
    workers
        .recovery
        .step(now - TimeDelta::hours(1))
        .await
        .unwrap();
    assert!(!workers.recovery.is_open());
}

#[tokio::test]
async fn an_operator_pauses_and_accepts_by_hand() {
    let fixture = FileStageFixture::new().await;
    let mut workers = fixture.join_another_worker_set(|files| files).await;
    assert!(check_recovery(&mut workers, &fixture).await);
    let (shard, now) = (&fixture.shard, fixture.now());
    let paused = recovery::pause(shard, "by hand", None, None, now).await;
    assert!(paused.unwrap());
    assert!(!check_recovery(&mut workers, &fixture).await);
    assert!(recovery::accept(shard, fixture.now()).await.unwrap());
    assert!(check_recovery(&mut workers, &fixture).await);
}
