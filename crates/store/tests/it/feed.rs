//! The feed: one entry for each transaction, read for two seconds, deleted after a minute.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use domain::cargo_group::GroupName;
use domain::id::{Berth, CargoId, GroupId, OrganizationId, ProjectId};
use domain::time::Timestamp;
use sqlx::types::Uuid;
use store::shard::group::{self, NewGroup, SealResult};
use store::shard::{completion, feed};
use store::{Pool, Shard};
use test_support::database::TestDatabase;

use crate::ledger_audit::ledger_fixture::{HoldKind, LedgerFixture};

/// Appends an entry that is so many seconds old, and returns its id.
async fn append_entry(pool: &Pool, seconds: i32, cargo: u64, group: u64) -> i64 {
    let entry = sqlx::query_scalar(
        "insert into shard.feed (at, cargo, group_id)
         values (now() - make_interval(secs => $1), array[$2], array[$3]) returning id",
    )
    .bind(f64::from(seconds))
    .bind(Uuid::from_u64_pair(0, cargo))
    .bind(Uuid::from_u64_pair(0, group));
    entry.fetch_one(pool).await.unwrap()
}

async fn count_entries(pool: &Pool) -> i64 {
    let count = sqlx::query_scalar("select count(*) from shard.feed");
    count.fetch_one(pool).await.unwrap()
}

#[tokio::test]
async fn recent_entries_are_read_once() {
    let database = TestDatabase::new().await;
    let shard = &database.shard;
    append_entry(&shard.pool, 3, 1, 2).await;
    // A margin: the test may be slow, and an entry is read for two seconds.
    let recent = append_entry(&shard.pool, -60, 3, 4).await;
    let read = feed::read_recent(shard, &[]).await.unwrap();
    let [entry] = &read[..] else {
        panic!("{read:?}");
    };
    assert_eq!(entry.id, recent);
    let cargo = CargoId::from(Uuid::from_u64_pair(0, 3));
    let group = GroupId::from(Uuid::from_u64_pair(0, 4));
    assert_eq!(
        (&entry.cargo[..], &entry.groups[..]),
        (&[cargo][..], &[group][..])
    );
    // A transaction with an earlier entry may commit later.
    let late = append_entry(&shard.pool, -59, 5, 6).await;
    let read = feed::read_recent(shard, &[recent]).await.unwrap();
    let ids: Vec<i64> = read.iter().map(|entry| entry.id).collect();
    assert_eq!(ids, [late]);
}

#[tokio::test]
async fn entries_older_than_a_minute_are_deleted() {
    let database = TestDatabase::new().await;
    let shard = &database.shard;
    for seconds in [90, 80, 70, 1] {
        append_entry(&shard.pool, seconds, 1, 2).await;
    }
    let first = feed::delete_old_entries(shard, Timestamp::UNIX_EPOCH, 2);
    let first = first.await.unwrap().unwrap();
    assert_eq!(count_entries(&shard.pool).await, 2);
    let second = feed::delete_old_entries(shard, first, 2).await.unwrap();
    let second = second.unwrap();
    assert!(first < second);
    assert_eq!(count_entries(&shard.pool).await, 1);
    let third = feed::delete_old_entries(shard, second, 2).await.unwrap();
    assert_eq!(third, None);
}

async fn create_group(shard: &Shard, number: u64, now: Timestamp) -> NewGroup {
    let berth = Berth::new(0).unwrap();
    let new = NewGroup {
        id: GroupId::new(now, berth, number),
        organization: OrganizationId::new(now, berth, 1),
        project: ProjectId::new(now, berth, 1),
        name: GroupName::new(&format!("run-{number}")).unwrap(),
        metadata: None,
        callback: None,
    };
    group::create(shard, &new, now).await.unwrap();
    new
}

#[tokio::test]
async fn a_seal_or_cancellation_that_completes_a_group_wakes_its_waiters_once() {
    let database = TestDatabase::new().await;
    let shard = &database.shard;
    let now = shard.clock.now();
    let sealed = create_group(shard, 1, now).await;
    let cancelled = create_group(shard, 2, now).await;
    for seconds in [1, 2] {
        let now = now + TimeDelta::seconds(seconds);
        let seal = group::seal(shard, sealed.project, sealed.id, None, now).await;
        assert!(matches!(seal.unwrap(), SealResult::Sealed(_)));
        let cancel = group::request_cancel(shard, cancelled.project, cancelled.id, now).await;
        assert!(cancel.unwrap().is_some());
    }
    let groups = sqlx::query_scalar("select group_id from shard.feed order by id");
    let groups: Vec<Vec<Uuid>> = groups.fetch_all(&shard.pool).await.unwrap();
    assert_eq!(groups, [[sealed.id.uuid()], [cancelled.id.uuid()]]);
}

#[tokio::test]
async fn a_transaction_of_outcomes_appends_one_entry() {
    let mut books = LedgerFixture::open().await;
    let first = books.load(HoldKind::Enough).await;
    let second = books.load(HoldKind::Tokens).await;
    let open = books.load(HoldKind::Enough).await;
    books.finish(&[first, second], true).await;
    let shard = books.shard();
    let entries = "select count(*), coalesce(sum(cardinality(cargo)), 0)::bigint from shard.feed";
    let entries: (i64, i64) = sqlx::query_as(entries)
        .fetch_one(&shard.pool)
        .await
        .unwrap();
    assert_eq!(entries, (1, 2));
    // The same is found without the feed, which a crash empties.
    let asked = [first, second, open];
    let found = completion::find_completed(shard, &asked);
    let found: BTreeSet<Uuid> = found
        .await
        .unwrap()
        .iter()
        .map(|it| it.cargo.uuid())
        .collect();
    assert_eq!(found, BTreeSet::from([first.uuid(), second.uuid()]));
}
