//! A database from an earlier moment than its bucket: no bytes are removed until an operator
//! confirms.

use std::sync::Arc;
use std::time::Duration;

use domain::file::MediaType;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use store::Shard;
use store::shard::bucket_marker;
use workers::Crew;
use workers::stage::{Stage as _, Step};

use crate::files_scan::samples;
use crate::files_scan::world::World;

async fn patrol(crew: &mut Crew, world: &World) {
    let now = world.now();
    while crew.patrol.step(now).await.unwrap() != Step::Idle {}
    while crew.sweep_files.step(now).await.unwrap() != Step::Idle {}
}

async fn upload(world: &mut World, length: usize) {
    let file = world
        .uploaded(&samples::text(length), MediaType::Text)
        .await;
    world.scan().await;
    assert_eq!(world.status(&file).await, "ready - clean");
}

async fn crew_on(world: &World, shard: &Arc<Shard>) -> Crew {
    let mut parts = world.parts.clone();
    parts.shard = shard.clone();
    parts.options.node = uuid::Uuid::from_u64_pair(rand::random(), rand::random());
    Crew::join(parts).await.unwrap()
}

async fn held(shard: &Shard) -> Option<String> {
    let held = bucket_marker::held(shard).await.unwrap();
    held.map(|hold| hold.reason)
}

async fn execute(shard: &Shard, statement: &'static str) {
    sqlx::raw_sql(statement).execute(&shard.pool).await.unwrap();
}

/// Copies the database as it is now; the copy is dropped with the server of the tests.
async fn copy_of(world: &World) -> Arc<Shard> {
    let name: String = sqlx::query_scalar("select current_database()::text")
        .fetch_one(&world.shard.pool)
        .await
        .unwrap();
    let copy = format!("{name}_copy");
    let server = crate::database::server("postgres");
    let mut connection = PgConnection::connect(&server).await.unwrap();
    for statement in [
        format!("drop database if exists {copy} with (force)"),
        format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'"),
        format!("create database {copy} template {name}"),
    ] {
        let run = sqlx::raw_sql(AssertSqlSafe(statement));
        run.execute(&mut connection).await.unwrap();
    }
    // The pool finds out which of its connections were cut.
    for _ in 0..8 {
        let _ = sqlx::raw_sql("select").execute(&world.shard.pool).await;
    }
    let url = crate::database::server(&copy);
    Arc::new(Shard::connect_lazily("main", &url, 4, world.clock.clone()).unwrap())
}

#[tokio::test]
async fn a_restored_copy_removes_nothing_until_it_is_confirmed() {
    let mut world = World::new().await;
    upload(&mut world, 100).await;
    let mut first = world.another_crew(|files| files).await;
    patrol(&mut first, &world).await;
    let copy = copy_of(&world).await;
    // Life goes on: a file that the copy does not know.
    upload(&mut world, 200).await;
    world.clock.advance(Duration::from_hours(2));
    patrol(&mut first, &world).await;
    assert_eq!(held(&world.shard).await, None);
    assert_eq!(world.stored().await, (0, 2));

    // Back to the copy, with the same bucket.
    let mut crew = crew_on(&world, &copy).await;
    world.clock.advance(Duration::from_hours(2));
    patrol(&mut crew, &world).await;
    assert_eq!(world.stored().await, (0, 2));
    let reason = held(&copy).await.unwrap();
    assert!(reason.contains("another database"), "{reason}");

    assert!(bucket_marker::confirm(&copy).await.unwrap());
    world.clock.advance(Duration::from_hours(2));
    patrol(&mut crew, &world).await;
    assert_eq!((held(&copy).await, world.stored().await), (None, (0, 1)));
    // Now it is the other database that is behind.
    world.clock.advance(Duration::from_hours(2));
    patrol(&mut first, &world).await;
    let reason = held(&world.shard).await.unwrap();
    assert!(reason.contains("newer than the rows"), "{reason}");
}

#[tokio::test]
async fn rows_that_are_older_than_the_marker_hold_removal() {
    let mut world = World::new().await;
    let mut crew = world.another_crew(|files| files).await;
    patrol(&mut crew, &world).await;
    upload(&mut world, 100).await;
    for _ in 0..3 {
        world.clock.advance(Duration::from_hours(2));
        patrol(&mut crew, &world).await;
    }
    // As a disk snapshot from before the upload: the same server, timeline and database.
    execute(
        &world.shard,
        "delete from shard.object; delete from shard.file;
         update shard.bucket_marker set generation = 1",
    )
    .await;
    let mut fresh = world.another_crew(|files| files).await;
    world.clock.advance(Duration::from_hours(2));
    // The process that saw newer rows, and one that starts: whichever looks first.
    patrol(&mut fresh, &world).await;
    patrol(&mut crew, &world).await;
    assert_eq!(world.stored().await, (0, 1));
    let reason = held(&world.shard).await.unwrap();
    assert!(reason.contains("newer than the rows"), "{reason}");
    assert!(bucket_marker::confirm(&world.shard).await.unwrap());
    assert!(!bucket_marker::confirm(&world.shard).await.unwrap());
    world.clock.advance(Duration::from_hours(2));
    patrol(&mut fresh, &world).await;
    assert_eq!(world.stored().await, (0, 0));
}

#[tokio::test]
async fn another_timeline_holds_removal_also_in_the_middle_of_a_round() {
    let mut world = World::new().await;
    upload(&mut world, 100).await;
    let mut crew = world.another_crew(|files| files).await;
    patrol(&mut crew, &world).await;
    execute(
        &world.shard,
        "delete from shard.object; delete from shard.file;
         update shard.patrol set due_at = 'epoch';
         update shard.bucket_marker set origin = regexp_replace(origin, '/[^/]+/', '/00000000/')",
    )
    .await;
    // Within the minute in which the bucket's marker is not read again.
    world.clock.advance(Duration::from_secs(2));
    patrol(&mut crew, &world).await;
    assert_eq!(world.stored().await, (0, 1));
    let reason = held(&world.shard).await.unwrap();
    assert!(reason.contains("timeline"), "{reason}");
}
