//! A worker that dies at any step: another begins anew, and the end is the same.

use std::time::Duration;

use domain::file::MediaType;
use domain::storage::Stored;
use store::shard::file::{self, Deleted, File};
use tokio_util::sync::CancellationToken;
use workers::stage::{Stage as _, Step};
use workers::{Crew, Files};

use crate::files_scan::gate::{Gate, Stop};
use crate::files_scan::world::{World, connect};
use crate::files_scan::{READY, samples};

/// A worker dies at the chosen call to the store. False when it came to its end before.
async fn dies(world: &World, stop: Stop) -> bool {
    let gate = Gate::before(&world.options.internal, stop).await;
    let objects = connect(&world.options, &gate.url).await;
    let mut doomed = world.another_crew(|files| Files { objects, ..files }).await;
    let now = world.now();
    tokio::select! {
        settled = doomed.scan.settle(now) => {
            settled.unwrap();
            false
        }
        () = gate.stopped() => true,
    }
}

/// Whoever comes after finds the file as it lies, and brings it to its one end.
async fn is_taken_up(world: &World, file: &File, stop: Stop) {
    world.bury().await;
    let mut heir = world.another_crew(|files| files).await;
    let now = world.now();
    heir.scan.settle(now).await.unwrap();
    while heir.sweep_files.step(now).await.unwrap() != Step::Idle {}
    assert_eq!(world.status(file).await, READY, "{stop:?}");
    assert_eq!(world.find(file).await.object, Some(file.id), "{stop:?}");
    assert_eq!(world.stored().await, (0, 1), "{stop:?}");
    assert_eq!(world.open_uploads().await, 0, "{stop:?}");
    let counted = world.counted().await;
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
        for stop in [Stop::Before(calls + 1), Stop::After(calls + 1)] {
            let world = World::new().await;
            let file = world
                .uploaded(&samples::of(MediaType::Png), MediaType::Png)
                .await;
            if !dies(&world, stop).await {
                // Looked at, read, copied, and its staging emptied.
                assert_eq!(calls, 4);
                return;
            }
            is_taken_up(&world, &file, stop).await;
        }
        calls += 1;
    }
}

#[tokio::test]
async fn a_worker_may_die_while_it_puts_parts_together() {
    let bytes = samples::text(9 << 20);
    let mut calls = 0;
    loop {
        for stop in [Stop::Before(calls + 1), Stop::After(calls + 1)] {
            let world = World::new().await;
            let file = world.session(&bytes, MediaType::Text).await;
            let listed = world.stage_parts(&file, &[&bytes]).await;
            world.complete(&file, Some(&listed)).await;
            if !dies(&world, stop).await {
                // Its parts listed and put together, then as any other.
                assert_eq!(calls, 6);
                return;
            }
            is_taken_up(&world, &file, stop).await;
        }
        calls += 1;
    }
}

#[tokio::test]
async fn a_file_that_kills_its_workers_is_set_aside() {
    let mut world = World::new().await;
    let file = world
        .uploaded(&samples::of(MediaType::Webm), MediaType::Webm)
        .await;
    world.execute("update shard.file set takeovers = 5").await;
    world.scan().await;
    assert_eq!(world.status(&file).await, "failed malformed_video pending");
    assert_eq!(world.stored().await, (0, 0));
}

#[tokio::test]
async fn one_that_was_taken_for_dead_changes_nothing() {
    let mut world = World::new().await;
    let file = world
        .uploaded(&samples::of(MediaType::Png), MediaType::Png)
        .await;
    let now = world.now();
    // The first crew has begun; its lease is gone before it writes.
    world.crew.scan.step(now).await.unwrap();
    world.bury().await;
    let mut heir = world.another_crew(|files| files).await;
    heir.scan.settle(now).await.unwrap();
    world.scan().await;
    assert_eq!(world.status(&file).await, READY);
    assert_eq!(world.stored().await, (0, 1));
    assert_eq!(world.counted().await.files, 1);
}

/// Does something while a worker is held at a call to the store, and lets it go on.
async fn meanwhile(world: &World, stop: Stop, something: impl Future<Output = ()>) {
    let gate = Gate::before(&world.options.internal, stop).await;
    let objects = connect(&world.options, &gate.url).await;
    let mut crew = world.another_crew(|files| Files { objects, ..files }).await;
    let held = async {
        gate.stopped().await;
        something.await;
        gate.open();
    };
    let (settled, ()) = tokio::join!(crew.scan.settle(world.now()), held);
    settled.unwrap();
}

#[tokio::test]
async fn what_changes_after_it_was_read_is_read_again() {
    let mut world = World::new().await;
    let file = world.uploaded(b"what was declared", MediaType::Text).await;
    // Looked at and read, and about to be copied.
    let changed = world.stage(&file, b"what came afterwards");
    Box::pin(meanwhile(&world, Stop::Before(3), changed)).await;
    assert_eq!(world.status(&file).await, "validating - pending");
    assert_eq!(world.stored().await, (1, 0));
    world.clock.advance(Duration::from_secs(1));
    world.scan().await;
    assert_eq!(world.status(&file).await, "failed size_mismatch pending");
}

#[tokio::test]
async fn a_session_deleted_while_it_is_verified_leaves_nothing() {
    for stop in (1..=3).flat_map(|call| [Stop::Before(call), Stop::After(call)]) {
        let mut world = World::new().await;
        let file = world.uploaded(&samples::text(100), MediaType::Text).await;
        let now = world.now();
        let deleted = async {
            let deleted = file::delete(&world.shard, world.project, file.id, false, now);
            assert!(matches!(deleted.await, Ok(Deleted::Done { .. })));
        };
        Box::pin(meanwhile(&world, stop, deleted)).await;
        let aborted = "failed upload_aborted pending";
        assert_eq!(world.status(&file).await, aborted, "{stop:?}");
        while world.crew.sweep_files.step(now).await.unwrap() != Step::Idle {}
        assert_eq!(world.stored().await, (0, 0), "{stop:?}");
        assert_eq!(world.counted().await, Stored::default(), "{stop:?}");
    }
}

#[tokio::test]
async fn a_worker_that_is_told_to_stop_gives_its_files_back() {
    let world = World::new().await;
    let file = world.uploaded(&samples::text(100), MediaType::Text).await;
    let gate = Gate::before(&world.options.internal, Stop::Before(2)).await;
    let objects = connect(&world.options, &gate.url).await;
    let mut parts = world.parts.clone();
    parts.files = parts.files.map(|files| Files { objects, ..files });
    parts.options.node = uuid::Uuid::from_u128(rand::random());
    let stop = CancellationToken::new();
    let working = tokio::spawn(Crew::work(parts, stop.clone()));
    gate.stopped().await;
    stop.cancel();
    working.await.unwrap();
    let row = "select node is null and takeovers = 0 and tries = 0 from shard.file";
    let free = sqlx::query_scalar::<_, bool>(row).fetch_one(&world.shard.pool);
    assert!(free.await.unwrap());
    assert_eq!(world.status(&file).await, "validating - pending");
}
