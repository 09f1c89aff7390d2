//! The change feed: complete, in commit order, and read even after connections were cut.

use domain::organization::Plan;
use domain::time::Clock as _;
use sqlx::Executor as _;
use store::control::api_key::KeyUseRow;
use store::control::audit_log::Actor;
use store::control::change_feed::ChangeKind;
use store::control::{api_key, berth, change_feed, organization, project};
use test_support::database::TestDatabase;

use crate::control::{SHARDS, digest, new_key, new_organization, new_project, read_changes};

#[tokio::test]
async fn every_change_is_in_the_feed() {
    let TestDatabase {
        ref control,
        ref clock,
        ..
    } = TestDatabase::new().await;
    let now = clock.now();
    berth::assign(control, &SHARDS, now).await.unwrap();
    let organization = new_organization(control, 1, now).await;
    let project = new_project(control, &organization, 1).await;
    let key = new_key(control, &project, 1).await;
    organization::set_plan(control, organization.id, Plan::Free, &Actor::console(), now)
        .await
        .unwrap();
    project::deactivate(control, project.id, &Actor::console(), now)
        .await
        .unwrap();
    api_key::deactivate(control, key.id, &Actor::console(), now)
        .await
        .unwrap();
    let used = KeyUseRow {
        key: key.id,
        at: now,
        address: None,
    };
    api_key::record_last_used(control, &[used]).await.unwrap();

    let of_organization = (ChangeKind::Organization, Some(organization.id.uuid()));
    let of_project = (ChangeKind::Project, Some(project.id.uuid()));
    let of_key = (ChangeKind::Key, Some(key.id.uuid()));
    let seen: Vec<_> = read_changes(control, 1)
        .await
        .into_iter()
        .map(|change| (change.kind, change.subject))
        .collect();
    assert_eq!(
        seen,
        [
            of_organization,
            of_project,
            of_key,
            of_organization,
            of_project,
            of_key
        ]
    );
    assert_eq!(change_feed::read_newest_seq(control).await.unwrap(), 7);
}

#[tokio::test]
async fn the_feed_is_read_in_pages_that_begin_with_what_was_read() {
    let TestDatabase {
        ref control,
        ref clock,
        ..
    } = TestDatabase::new().await;
    assert_eq!(change_feed::read_newest_seq(control).await.unwrap(), 0);
    assert!(
        change_feed::read_since(control, 0, 2)
            .await
            .unwrap()
            .changes
            .is_empty()
    );
    berth::assign(control, &SHARDS, clock.now()).await.unwrap();
    for number in 0..4 {
        new_organization(control, number, clock.now()).await;
    }
    let page = change_feed::read_since(control, 2, 2).await.unwrap();
    let numbers: Vec<i64> = page.changes.iter().map(|change| change.seq).collect();
    assert_eq!(numbers, [2, 3, 4]);
    let beyond = change_feed::read_since(control, 99, 2).await.unwrap();
    assert!(beyond.changes.is_empty() && beyond.server_time > clock.now());
}

#[tokio::test]
async fn the_feed_has_the_order_of_the_commits() {
    let TestDatabase {
        ref control,
        ref clock,
        ..
    } = TestDatabase::new().await;
    berth::assign(control, &SHARDS, clock.now()).await.unwrap();
    let one = new_organization(control, 1, clock.now()).await;
    let other = new_organization(control, 2, clock.now()).await;
    let before = change_feed::read_newest_seq(control).await.unwrap();

    // The first waits for a row and has not locked the feed. So the second, which began later, is
    // appended and committed before it.
    let mut held = control.pool.begin().await.unwrap();
    held.execute("select from control.organization where name = 'organization 1' for update")
        .await
        .unwrap();
    let waiting = tokio::spawn({
        let (control, now) = (control.clone(), clock.now());
        async move { organization::set_plan(&control, one.id, Plan::Free, &Actor::console(), now).await }
    });
    organization::set_plan(
        control,
        other.id,
        Plan::Free,
        &Actor::console(),
        clock.now(),
    )
    .await
    .unwrap();
    let first = read_changes(control, before).await;
    assert_eq!(
        first
            .iter()
            .map(|change| change.subject)
            .collect::<Vec<_>>(),
        [Some(other.id.uuid())]
    );

    held.commit().await.unwrap();
    waiting.await.unwrap().unwrap();
    let then = read_changes(control, first[0].seq).await;
    assert_eq!(
        then.iter().map(|change| change.subject).collect::<Vec<_>>(),
        [Some(one.id.uuid())]
    );
}

#[tokio::test]
async fn many_changes_at_once_are_seen_by_one_who_follows() {
    let TestDatabase {
        ref control,
        ref clock,
        ..
    } = TestDatabase::new().await;
    berth::assign(control, &SHARDS, clock.now()).await.unwrap();
    let organization = new_organization(control, 1, clock.now()).await;
    let before = change_feed::read_newest_seq(control).await.unwrap();
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..60 {
        let (control, organization) = (control.clone(), organization.clone());
        writers.spawn(async move { new_project(&control, &organization, number).await });
    }
    let (mut seen, mut position) = (0, before);
    while seen < 60 {
        for change in read_changes(control, position).await {
            assert!(change.seq > position);
            position = change.seq;
            seen += 1;
        }
    }
    assert_eq!(writers.join_all().await.len(), 60);
    assert_eq!(
        change_feed::read_newest_seq(control).await.unwrap(),
        position
    );
}

#[tokio::test]
async fn connections_that_were_cut_are_passed_over() {
    let database = TestDatabase::new().await;
    let control = &database.control;
    berth::assign(control, &SHARDS, database.clock.now())
        .await
        .unwrap();
    let (one, two) = tokio::join!(control.pool.acquire(), control.pool.acquire());
    drop((one.unwrap(), two.unwrap()));
    let cut = "select pg_terminate_backend(pid) from pg_stat_activity
               where datname = current_database() and pid <> pg_backend_pid()";
    database.shard.pool.execute(cut).await.unwrap();
    assert!(change_feed::read_since(control, 0, 1).await.is_ok());
    assert_eq!(
        api_key::find_by_digest(control, digest(1)).await.unwrap(),
        None
    );
    assert_eq!(berth::read_map(control).await.unwrap().len(), 1024);
}
