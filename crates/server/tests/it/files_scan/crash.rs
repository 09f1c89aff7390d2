//! A worker that dies at any step: another starts over, with the same result.

use std::time::Duration;

use domain::file::MediaType;
use domain::storage_quota::StorageUsage;
use store::shard::file::{self, FileDeletion, FileRow};
use test_support::sample_files;
use tokio_util::sync::CancellationToken;
use workers::stage::{Stage as _, StepResult};
use workers::{FileStageDeps, WorkerSet};

use crate::files_scan::READY_STATUS;
use crate::files_scan::fixture::{FileStageFixture, connect_store};
use crate::files_scan::pausing_proxy::{PausePoint, PausingProxy};

/// Lets a worker die at the chosen call to the store. False if it finished before.
async fn crashes_at(fixture: &FileStageFixture, stop: PausePoint) -> bool {
    let proxy = PausingProxy::in_front_of(&fixture.options.internal, stop).await;
    let objects = connect_store(&fixture.options, &proxy.url).await;
    let mut dying = fixture
        .join_another_worker_set(|files| FileStageDeps { objects, ..files })
        .await;
    let now = fixture.now();
    tokio::select! {
        settled = dying.scan.run_until_idle(now) => {
            settled.unwrap();
            false
        }
        () = proxy.wait_until_paused() => true,
    }
}

/// Another worker takes the file over and makes it ready.
async fn assert_taken_over(fixture: &FileStageFixture, file: &FileRow, stop: PausePoint) {
    fixture.expire_leases().await;
    let mut successor = fixture.join_another_worker_set(|files| files).await;
    let now = fixture.now();
    successor.scan.run_until_idle(now).await.unwrap();
    while successor.sweep_files.step(now).await.unwrap() != StepResult::Idle {}
    assert_eq!(fixture.status(file).await, READY_STATUS, "{stop:?}");
    assert_eq!(fixture.find(file).await.object, Some(file.id), "{stop:?}");
    assert_eq!(fixture.count_objects().await, (0, 1), "{stop:?}");
    assert_eq!(fixture.count_open_uploads().await, 0, "{stop:?}");
    let counted = fixture.storage_usage().await;
    assert_eq!(
        (counted.files, counted.bytes),
        (1, file.size_bytes),
        "{stop:?}"
    );
}

#[tokio::test]
async fn a_worker_may_die_before_and_after_every_call() {
    let mut calls = 0;
    loop {
        for stop in [PausePoint::Before(calls + 1), PausePoint::After(calls + 1)] {
            let fixture = FileStageFixture::new().await;
            let file = fixture
                .upload_and_complete(&sample_files::valid_file(MediaType::Png), MediaType::Png)
                .await;
            if !crashes_at(&fixture, stop).await {
                // Head, read, copy, and delete of the staged object.
                assert_eq!(calls, 4);
                return;
            }
            assert_taken_over(&fixture, &file, stop).await;
        }
        calls += 1;
    }
}

#[tokio::test]
async fn a_worker_may_die_while_it_puts_parts_together() {
    let bytes = sample_files::text(9 << 20);
    let mut calls = 0;
    loop {
        for stop in [PausePoint::Before(calls + 1), PausePoint::After(calls + 1)] {
            let fixture = FileStageFixture::new().await;
            let file = fixture.create_session(&bytes, MediaType::Text).await;
            let listed = fixture.put_staged_parts(&file, &[&bytes]).await;
            fixture.complete(&file, Some(&listed)).await;
            if !crashes_at(&fixture, stop).await {
                // The parts are listed and completed before the four calls of a single upload.
                assert_eq!(calls, 6);
                return;
            }
            assert_taken_over(&fixture, &file, stop).await;
        }
        calls += 1;
    }
}

#[tokio::test]
async fn a_file_that_kills_its_workers_fails() {
    let mut fixture = FileStageFixture::new().await;
    let file = fixture
        .upload_and_complete(&sample_files::valid_file(MediaType::Webm), MediaType::Webm)
        .await;
    fixture.execute("update shard.file set takeovers = 5").await;
    fixture.scan().await;
    assert_eq!(
        fixture.status(&file).await,
        "failed malformed_video pending"
    );
    assert_eq!(fixture.count_objects().await, (0, 0));
}

#[tokio::test]
async fn a_fenced_worker_changes_nothing() {
    let mut fixture = FileStageFixture::new().await;
    let file = fixture
        .upload_and_complete(&sample_files::valid_file(MediaType::Png), MediaType::Png)
        .await;
    let now = fixture.now();
    // The first worker has started; its lease expires before it writes.
    fixture.worker_set.scan.step(now).await.unwrap();
    fixture.expire_leases().await;
    let mut successor = fixture.join_another_worker_set(|files| files).await;
    successor.scan.run_until_idle(now).await.unwrap();
    fixture.scan().await;
    assert_eq!(fixture.status(&file).await, READY_STATUS);
    assert_eq!(fixture.count_objects().await, (0, 1));
    assert_eq!(fixture.storage_usage().await.files, 1);
}

/// Runs something while a worker is paused at a call to the store, and then resumes the worker.
async fn run_during_scan(
    fixture: &FileStageFixture,
    stop: PausePoint,
    something: impl Future<Output = ()>,
) {
    let proxy = PausingProxy::in_front_of(&fixture.options.internal, stop).await;
    let objects = connect_store(&fixture.options, &proxy.url).await;
    let mut workers = fixture
        .join_another_worker_set(|files| FileStageDeps { objects, ..files })
        .await;
    let held = async {
        proxy.wait_until_paused().await;
        something.await;
        proxy.resume();
    };
    let (settled, ()) = tokio::join!(workers.scan.run_until_idle(fixture.now()), held);
    settled.unwrap();
}

#[tokio::test]
async fn bytes_that_change_after_they_were_read_are_read_again() {
    let mut fixture = FileStageFixture::new().await;
    let file = fixture
        .upload_and_complete(b"what was declared", MediaType::Text)
        .await;
    // After head and read, before the copy.
    let changed = fixture.put_staged(&file, b"what came afterwards");
    Box::pin(run_during_scan(&fixture, PausePoint::Before(3), changed)).await;
    assert_eq!(fixture.status(&file).await, "validating - pending");
    assert_eq!(fixture.count_objects().await, (1, 0));
    fixture.clock.advance(Duration::from_secs(1));
    fixture.scan().await;
    assert_eq!(fixture.status(&file).await, "failed size_mismatch pending");
}

#[tokio::test]
async fn a_session_deleted_while_it_is_verified_leaves_nothing() {
    for stop in (1..=3).flat_map(|call| [PausePoint::Before(call), PausePoint::After(call)]) {
        let mut fixture = FileStageFixture::new().await;
        let file = fixture
            .upload_and_complete(&sample_files::text(100), MediaType::Text)
            .await;
        let now = fixture.now();
        let deleted = async {
            let deleted = file::delete(&fixture.shard, fixture.project, file.id, false, now);
            assert!(matches!(deleted.await, Ok(FileDeletion::Done { .. })));
        };
        Box::pin(run_during_scan(&fixture, stop, deleted)).await;
        let aborted = "failed upload_aborted pending";
        assert_eq!(fixture.status(&file).await, aborted, "{stop:?}");
        while fixture.worker_set.sweep_files.step(now).await.unwrap() != StepResult::Idle {}
        assert_eq!(fixture.count_objects().await, (0, 0), "{stop:?}");
        assert_eq!(
            fixture.storage_usage().await,
            StorageUsage::default(),
            "{stop:?}"
        );
    }
}

#[tokio::test]
async fn a_stopping_worker_releases_its_files() {
    let fixture = FileStageFixture::new().await;
    let file = fixture
        .upload_and_complete(&sample_files::text(100), MediaType::Text)
        .await;
    let proxy = PausingProxy::in_front_of(&fixture.options.internal, PausePoint::Before(2)).await;
    let objects = connect_store(&fixture.options, &proxy.url).await;
    let mut parts = fixture.deps.clone();
    parts.files = parts.files.map(|files| FileStageDeps { objects, ..files });
    parts.options.node = uuid::Uuid::from_u128(rand::random());
    let stop = CancellationToken::new();
    let working = tokio::spawn(WorkerSet::run_until_stopped(parts, stop.clone()));
    proxy.wait_until_paused().await;
    stop.cancel();
    working.await.unwrap();
    let row = "select node is null and takeovers = 0 and tries = 0 from shard.file";
    let free = sqlx::query_scalar::<_, bool>(row).fetch_one(&fixture.shard.pool);
    assert!(free.await.unwrap());
    assert_eq!(fixture.status(&file).await, "validating - pending");
}
