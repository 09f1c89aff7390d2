//! Sweep and patrol remove what expiry, crashes and replayed grants leave behind.

use std::time::Duration;

use domain::file::MediaType;
use domain::id::FileId;
use domain::storage_quota::StorageUsage;
use outbound::health::{DependencyHealth, FilesHealth};
use outbound::object_store::ObjectStore;
use store::shard::file::{self, FileRow};
use test_support::object_store::post_form;
use test_support::sample_files;
use workers::FileStageDeps;
use workers::WorkerSet;
use workers::stage::{Stage as _, StepResult};

use crate::files_scan::fixture::{FileStageFixture, connect_store, declaration};

const DAY: Duration = Duration::from_hours(24);

async fn run_sweep(fixture: &mut FileStageFixture) {
    let now = fixture.now();
    while fixture.worker_set.sweep_files.step(now).await.unwrap() != StepResult::Idle {}
}

async fn run_patrol_of(workers: &mut WorkerSet, fixture: &FileStageFixture) {
    let now = fixture.now();
    while workers.patrol.step(now).await.unwrap() != StepResult::Idle {}
}

async fn run_patrol(fixture: &mut FileStageFixture) {
    let now = fixture.now();
    while fixture.worker_set.patrol.step(now).await.unwrap() != StepResult::Idle {}
}

async fn upload_ready_file(fixture: &mut FileStageFixture) -> FileRow {
    let file = fixture
        .upload_and_complete(&sample_files::text(100), MediaType::Text)
        .await;
    fixture.scan().await;
    assert_eq!(fixture.status(&file).await, "ready - clean");
    file
}

/// Puts bytes into staging under an id without a row.
async fn put_unknown_object(fixture: &FileStageFixture) -> FileId {
    let id = FileId::new(fixture.now(), fixture.organization.berth(), rand::random());
    put_staged(&fixture.objects, id).await;
    id
}

async fn put_staged(objects: &ObjectStore, id: FileId) {
    let bytes = sample_files::text(50);
    let grant = objects
        .post_grant(id, &declaration(&bytes, MediaType::Text))
        .unwrap();
    assert_eq!(post_form(&grant, &bytes).await.status / 100, 2);
}

/// Puts bytes into the published area.
async fn put_published(fixture: &FileStageFixture, id: FileId) {
    let (from, to) = (
        fixture.objects.staging_key(id),
        fixture.objects.published_key(id),
    );
    put_staged(&fixture.objects, id).await;
    let head = fixture.objects.head(&from).await.unwrap().unwrap();
    fixture.objects.copy(&from, &to, &head.etag).await.unwrap();
    fixture.objects.delete(&from).await.unwrap();
}

#[tokio::test]
async fn an_expired_file_is_removed_with_its_bytes() {
    let mut fixture = FileStageFixture::new().await;
    let file = upload_ready_file(&mut fixture).await;
    let almost = u64::from(file.ttl_seconds) - 1;
    fixture.clock.advance(Duration::from_secs(almost));
    run_sweep(&mut fixture).await;
    assert_eq!(fixture.status(&file).await, "ready - clean");
    fixture.clock.advance(Duration::from_secs(1));
    run_sweep(&mut fixture).await;
    assert_eq!(fixture.status(&file).await, "expired - clean");
    assert_eq!(fixture.count_objects().await, (0, 0));
    assert_eq!(fixture.storage_usage().await, StorageUsage::default());
    let rows = sqlx::query_scalar::<_, i64>("select count(*) from shard.object");
    assert_eq!(rows.fetch_one(&fixture.shard.pool).await.unwrap(), 0);
}

#[tokio::test]
async fn a_session_is_abandoned_after_a_day() {
    let mut fixture = FileStageFixture::new().await;
    let single = fixture
        .create_session(b"never completed", MediaType::Text)
        .await;
    fixture.put_staged(&single, b"never completed").await;
    let bytes = sample_files::text(9 << 20);
    let parts = fixture.create_session(&bytes, MediaType::Text).await;
    fixture.put_staged_parts(&parts, &[&bytes]).await;
    run_sweep(&mut fixture).await;
    assert_eq!(fixture.status(&single).await, "uploading - pending");
    fixture.clock.advance(DAY + Duration::from_secs(1));
    run_sweep(&mut fixture).await;
    for file in [&single, &parts] {
        assert_eq!(
            fixture.status(file).await,
            "failed upload_abandoned pending"
        );
        assert!(!fixture.find(file).await.staged);
    }
    assert_eq!(fixture.count_objects().await, (0, 0));
    assert_eq!(fixture.count_open_uploads().await, 0);
    assert_eq!(fixture.storage_usage().await, StorageUsage::default());
}

#[tokio::test]
async fn nothing_is_removed_from_an_unverified_store() {
    let mut fixture = FileStageFixture::new().await;
    let file = fixture
        .create_session(b"never completed", MediaType::Text)
        .await;
    fixture.put_staged(&file, b"never completed").await;
    put_unknown_object(&fixture).await;
    fixture.clock.advance(DAY + Duration::from_secs(1));
    let failed =
        DependencyHealth::ProbeFailed("the bucket belongs to another installation".to_owned());
    for store in [
        DependencyHealth::Unknown,
        DependencyHealth::Unreachable("unreachable".to_owned()),
        failed,
    ] {
        let scanner = DependencyHealth::Healthy;
        let probe = DependencyHealth::Healthy;
        fixture.health.send_replace(FilesHealth {
            store,
            credentials: DependencyHealth::NotConfigured,
            scanner,
            probe,
        });
        run_sweep(&mut fixture).await;
        run_patrol(&mut fixture).await;
        // Changes of rows do not need the store.
        assert_eq!(
            fixture.status(&file).await,
            "failed upload_abandoned pending"
        );
        assert_eq!(fixture.count_objects().await, (2, 0));
    }
    let (store, scanner) = (DependencyHealth::Healthy, DependencyHealth::Unknown);
    let probe = DependencyHealth::Healthy;
    fixture.health.send_replace(FilesHealth {
        store,
        credentials: DependencyHealth::NotConfigured,
        scanner,
        probe,
    });
    fixture.clock.advance(Duration::from_secs(1));
    run_sweep(&mut fixture).await;
    assert_eq!(fixture.count_objects().await, (1, 0));
    run_patrol(&mut fixture).await;
    assert_eq!(fixture.count_objects().await, (0, 0));
}

#[tokio::test]
async fn objects_of_a_replayed_grant_are_removed() {
    let mut fixture = FileStageFixture::new().await;
    let file = upload_ready_file(&mut fixture).await;
    fixture.put_staged(&file, b"the same or other bytes").await;
    assert_eq!(fixture.count_objects().await, (1, 1));
    run_sweep(&mut fixture).await;
    run_patrol(&mut fixture).await;
    assert_eq!(fixture.count_objects().await, (0, 1));
    assert_eq!(fixture.status(&file).await, "ready - clean");
}

#[tokio::test]
async fn only_objects_without_a_row_are_removed() {
    let mut fixture = FileStageFixture::new().await;
    let kept = upload_ready_file(&mut fixture).await;
    let uploading = fixture.create_session(b"on its way", MediaType::Text).await;
    fixture.put_staged(&uploading, b"on its way").await;
    let bytes = sample_files::text(9 << 20);
    let parts = fixture.create_session(&bytes, MediaType::Text).await;
    fixture.put_staged_parts(&parts, &[&bytes]).await;
    let unknown = put_unknown_object(&fixture).await;
    put_published(
        &fixture,
        FileId::new(fixture.now(), fixture.organization.berth(), 7),
    )
    .await;
    // A second upload for the same file, and one for a file that does not exist.
    for id in [parts.id, unknown] {
        let begun = fixture.objects.begin_multipart(id, MediaType::Text, false);
        begun.await.unwrap();
    }
    assert_eq!(
        (
            fixture.count_objects().await,
            fixture.count_open_uploads().await
        ),
        ((2, 2), 3)
    );
    run_patrol(&mut fixture).await;
    assert_eq!(
        (
            fixture.count_objects().await,
            fixture.count_open_uploads().await
        ),
        ((1, 1), 1)
    );
    assert_eq!(fixture.status(&kept).await, "ready - clean");
    fixture.complete(&uploading, None).await;
    fixture.scan().await;
    assert_eq!(fixture.status(&uploading).await, "ready - clean");
}

#[tokio::test]
async fn young_objects_are_kept() {
    let mut fixture = FileStageFixture::with_deps(|files| FileStageDeps {
        grace: domain::patrol::UNKNOWN_OBJECT_GRACE,
        ..files
    })
    .await;
    let young = put_unknown_object(&fixture).await;
    put_published(
        &fixture,
        FileId::new(fixture.now(), fixture.organization.berth(), 7),
    )
    .await;
    let begun = fixture
        .objects
        .begin_multipart(young, MediaType::Text, false);
    begun.await.unwrap();
    run_patrol(&mut fixture).await;
    assert_eq!(
        (
            fixture.count_objects().await,
            fixture.count_open_uploads().await
        ),
        ((1, 1), 1)
    );
}

#[tokio::test]
async fn a_berth_is_patrolled_once_in_a_period() {
    let mut fixture = FileStageFixture::new().await;
    run_patrol(&mut fixture).await;
    put_unknown_object(&fixture).await;
    fixture.clock.advance(Duration::from_mins(59));
    run_patrol(&mut fixture).await;
    assert_eq!(fixture.count_objects().await, (1, 0));
    fixture.clock.advance(Duration::from_mins(1));
    run_patrol(&mut fixture).await;
    assert_eq!(fixture.count_objects().await, (0, 0));
}

#[tokio::test]
async fn two_worker_sets_patrol_at_once() {
    let mut fixture = FileStageFixture::new().await;
    let kept = upload_ready_file(&mut fixture).await;
    for _ in 0..20 {
        put_unknown_object(&fixture).await;
    }
    let mut others = [
        fixture.join_another_worker_set(|files| files).await,
        fixture.join_another_worker_set(|files| files).await,
    ];
    let [one, two] = &mut others;
    // A berth is given to one of them; this makes both patrol the same berth.
    let again = async {
        fixture
            .execute("update shard.patrol set due_at = 'epoch'")
            .await;
        run_patrol_of(two, &fixture).await;
    };
    tokio::join!(run_patrol_of(one, &fixture), again);
    assert_eq!(fixture.count_objects().await, (0, 1));
    assert_eq!(fixture.status(&kept).await, "ready - clean");
}

#[tokio::test]
async fn bytes_of_deleted_files_are_removed_after_a_store_outage() {
    let mut fixture = FileStageFixture::new().await;
    let file = upload_ready_file(&mut fixture).await;
    let now = fixture.now();
    file::delete(&fixture.shard, fixture.project, file.id, false, now)
        .await
        .unwrap();
    let nowhere = "http://127.0.0.1:1/".parse().unwrap();
    let objects = connect_store(&fixture.options, &nowhere).await;
    let mut cut_off = fixture
        .join_another_worker_set(|files| FileStageDeps { objects, ..files })
        .await;
    // An unavailable store is not a failure of the stage, which retries later.
    while cut_off.sweep_files.step(now).await.unwrap() != StepResult::Idle {}
    assert_eq!(fixture.count_objects().await, (0, 1));
    run_sweep(&mut fixture).await;
    assert_eq!(fixture.count_objects().await, (0, 0));
}

#[tokio::test]
async fn missing_bytes_are_reported() {
    let mut fixture = FileStageFixture::new().await;
    let (kept, lost) = (
        upload_ready_file(&mut fixture).await,
        upload_ready_file(&mut fixture).await,
    );
    run_patrol(&mut fixture).await;
    assert_eq!(fixture.worker_set.patrol.missing(), []);
    fixture
        .objects
        .delete(&fixture.objects.published_key(lost.id))
        .await
        .unwrap();
    fixture.clock.advance(Duration::from_hours(1));
    run_patrol(&mut fixture).await;
    assert_eq!(fixture.worker_set.patrol.missing(), [lost.id]);
    assert_eq!(fixture.status(&kept).await, "ready - clean");
}
