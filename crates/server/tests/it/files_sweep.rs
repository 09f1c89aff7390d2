//! What is left behind: by time, by crashes, by replayed grants. All of it goes.

use std::time::Duration;

use domain::file::MediaType;
use domain::id::FileId;
use domain::storage::Stored;
use outbound::health::{Condition, FilesHealth};
use outbound::objects::Objects;
use store::shard::file::{self, File};
use workers::Crew;
use workers::Files;
use workers::stage::{Stage as _, Step};

use crate::files_scan::samples;
use crate::files_scan::world::{World, connect, declared};
use crate::storage::post;

const DAY: Duration = Duration::from_hours(24);

async fn sweep(world: &mut World) {
    let now = world.now();
    while world.crew.sweep_files.step(now).await.unwrap() != Step::Idle {}
}

async fn patrol(crew: &mut Crew, world: &World) {
    let now = world.now();
    while crew.patrol.step(now).await.unwrap() != Step::Idle {}
}

async fn patrol_all(world: &mut World) {
    let now = world.now();
    while world.crew.patrol.step(now).await.unwrap() != Step::Idle {}
}

async fn ready(world: &mut World) -> File {
    let file = world.uploaded(&samples::text(100), MediaType::Text).await;
    world.scan().await;
    assert_eq!(world.status(&file).await, "ready - clean");
    file
}

/// Puts bytes where a file that nobody knows would have them.
async fn stray(world: &World) -> FileId {
    let id = FileId::new(world.now(), world.organization.berth(), rand::random());
    put(&world.objects, id).await;
    id
}

async fn put(objects: &Objects, id: FileId) {
    let bytes = samples::text(50);
    let grant = objects.post_grant(id, &declared(&bytes, MediaType::Text));
    assert_eq!(post(&grant, &bytes).await.status / 100, 2);
}

/// Puts bytes where published ones lie.
async fn publish(world: &World, id: FileId) {
    let (from, to) = (world.objects.staging(id), world.objects.published(id));
    put(&world.objects, id).await;
    let head = world.objects.head(&from).await.unwrap().unwrap();
    world.objects.copy(&from, &to, &head.etag).await.unwrap();
    world.objects.delete(&from).await.unwrap();
}

#[tokio::test]
async fn a_file_past_its_time_goes_with_its_bytes() {
    let mut world = World::new().await;
    let file = ready(&mut world).await;
    let almost = u64::from(file.ttl_seconds) - 1;
    world.clock.advance(Duration::from_secs(almost));
    sweep(&mut world).await;
    assert_eq!(world.status(&file).await, "ready - clean");
    world.clock.advance(Duration::from_secs(1));
    sweep(&mut world).await;
    assert_eq!(world.status(&file).await, "expired - clean");
    assert_eq!(world.stored().await, (0, 0));
    assert_eq!(world.counted().await, Stored::default());
    let rows = sqlx::query_scalar::<_, i64>("select count(*) from shard.object");
    assert_eq!(rows.fetch_one(&world.shard.pool).await.unwrap(), 0);
}

#[tokio::test]
async fn a_session_is_abandoned_after_a_day() {
    let mut world = World::new().await;
    let single = world.session(b"never completed", MediaType::Text).await;
    world.stage(&single, b"never completed").await;
    let bytes = samples::text(9 << 20);
    let parts = world.session(&bytes, MediaType::Text).await;
    world.stage_parts(&parts, &[&bytes]).await;
    sweep(&mut world).await;
    assert_eq!(world.status(&single).await, "uploading - pending");
    world.clock.advance(DAY + Duration::from_secs(1));
    sweep(&mut world).await;
    for file in [&single, &parts] {
        assert_eq!(world.status(file).await, "failed upload_abandoned pending");
        assert!(!world.find(file).await.staged);
    }
    assert_eq!(world.stored().await, (0, 0));
    assert_eq!(world.open_uploads().await, 0);
    assert_eq!(world.counted().await, Stored::default());
}

#[tokio::test]
async fn nothing_is_removed_from_a_store_that_is_not_known_to_be_ours() {
    let mut world = World::new().await;
    let file = world.session(b"never completed", MediaType::Text).await;
    world.stage(&file, b"never completed").await;
    stray(&world).await;
    world.clock.advance(DAY + Duration::from_secs(1));
    let failed = Condition::Failed("the bucket belongs to another installation".to_owned());
    for store in [
        Condition::Unknown,
        Condition::Away("away".to_owned()),
        failed,
    ] {
        let scanner = Condition::Well;
        world.health.send_replace(FilesHealth { store, scanner });
        sweep(&mut world).await;
        patrol_all(&mut world).await;
        // What only the rows say is so all the same.
        assert_eq!(world.status(&file).await, "failed upload_abandoned pending");
        assert_eq!(world.stored().await, (2, 0));
    }
    let (store, scanner) = (Condition::Well, Condition::Unknown);
    world.health.send_replace(FilesHealth { store, scanner });
    world.clock.advance(Duration::from_secs(1));
    sweep(&mut world).await;
    assert_eq!(world.stored().await, (1, 0));
    patrol_all(&mut world).await;
    assert_eq!(world.stored().await, (0, 0));
}

#[tokio::test]
async fn what_a_replayed_grant_leaves_is_found() {
    let mut world = World::new().await;
    let file = ready(&mut world).await;
    world.stage(&file, b"the same or other bytes").await;
    assert_eq!(world.stored().await, (1, 1));
    sweep(&mut world).await;
    patrol_all(&mut world).await;
    assert_eq!(world.stored().await, (0, 1));
    assert_eq!(world.status(&file).await, "ready - clean");
}

#[tokio::test]
async fn what_no_row_knows_goes_and_what_is_wanted_stays() {
    let mut world = World::new().await;
    let kept = ready(&mut world).await;
    let uploading = world.session(b"on its way", MediaType::Text).await;
    world.stage(&uploading, b"on its way").await;
    let bytes = samples::text(9 << 20);
    let parts = world.session(&bytes, MediaType::Text).await;
    world.stage_parts(&parts, &[&bytes]).await;
    let nobody = stray(&world).await;
    publish(
        &world,
        FileId::new(world.now(), world.organization.berth(), 7),
    )
    .await;
    // A second upload for the same file, and one for a file that never was.
    for id in [parts.id, nobody] {
        let begun = world.objects.begin_multipart(id, MediaType::Text, false);
        begun.await.unwrap();
    }
    assert_eq!(
        (world.stored().await, world.open_uploads().await),
        ((2, 2), 3)
    );
    patrol_all(&mut world).await;
    assert_eq!(
        (world.stored().await, world.open_uploads().await),
        ((1, 1), 1)
    );
    assert_eq!(world.status(&kept).await, "ready - clean");
    world.complete(&uploading, None).await;
    world.scan().await;
    assert_eq!(world.status(&uploading).await, "ready - clean");
}

#[tokio::test]
async fn what_is_young_may_yet_get_its_row() {
    let mut world = World::with(|files| Files {
        grace: domain::patrol::GRACE,
        ..files
    })
    .await;
    let young = stray(&world).await;
    publish(
        &world,
        FileId::new(world.now(), world.organization.berth(), 7),
    )
    .await;
    let begun = world.objects.begin_multipart(young, MediaType::Text, false);
    begun.await.unwrap();
    patrol_all(&mut world).await;
    assert_eq!(
        (world.stored().await, world.open_uploads().await),
        ((1, 1), 1)
    );
}

#[tokio::test]
async fn a_berth_is_patrolled_once_in_a_period() {
    let mut world = World::new().await;
    patrol_all(&mut world).await;
    stray(&world).await;
    world.clock.advance(Duration::from_mins(59));
    patrol_all(&mut world).await;
    assert_eq!(world.stored().await, (1, 0));
    world.clock.advance(Duration::from_mins(1));
    patrol_all(&mut world).await;
    assert_eq!(world.stored().await, (0, 0));
}

#[tokio::test]
async fn two_crews_patrol_at_once() {
    let mut world = World::new().await;
    let kept = ready(&mut world).await;
    for _ in 0..20 {
        stray(&world).await;
    }
    let mut others = [
        world.another_crew(|files| files).await,
        world.another_crew(|files| files).await,
    ];
    let [one, two] = &mut others;
    // Each berth is dealt to one of them; this makes them walk the same one, too.
    let again = async {
        world
            .execute("update shard.patrol set due_at = 'epoch'")
            .await;
        patrol(two, &world).await;
    };
    tokio::join!(patrol(one, &world), again);
    assert_eq!(world.stored().await, (0, 1));
    assert_eq!(world.status(&kept).await, "ready - clean");
}

#[tokio::test]
async fn bytes_of_the_dead_go_also_when_the_store_was_away() {
    let mut world = World::new().await;
    let file = ready(&mut world).await;
    let now = world.now();
    file::delete(&world.shard, world.project, file.id, false, now)
        .await
        .unwrap();
    let nowhere = "http://127.0.0.1:1/".parse().unwrap();
    let objects = connect(&world.options, &nowhere).await;
    let mut cut_off = world.another_crew(|files| Files { objects, ..files }).await;
    // A store that is away is no failure of the stage, and is left alone for a while.
    while cut_off.sweep_files.step(now).await.unwrap() != Step::Idle {}
    assert_eq!(world.stored().await, (0, 1));
    sweep(&mut world).await;
    assert_eq!(world.stored().await, (0, 0));
}

#[tokio::test]
async fn bytes_that_are_missing_are_told() {
    let mut world = World::new().await;
    let (kept, lost) = (ready(&mut world).await, ready(&mut world).await);
    patrol_all(&mut world).await;
    assert_eq!(world.crew.patrol.missing(), []);
    world
        .objects
        .delete(&world.objects.published(lost.id))
        .await
        .unwrap();
    world.clock.advance(Duration::from_hours(1));
    patrol_all(&mut world).await;
    assert_eq!(world.crew.patrol.missing(), [lost.id]);
    assert_eq!(world.status(&kept).await, "ready - clean");
}
