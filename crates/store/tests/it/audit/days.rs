//! Days that go, and the sums that stay.

use std::time::Duration;

use chrono::{NaiveDate, TimeDelta};
use domain::id::{CargoId, ProjectId};
use domain::time::Clock as _;
use sqlx::types::Uuid;
use sqlx::{AssertSqlSafe, Executor as _};
use store::Shard;
use store::shard::audit;
use store::shard::credit::Direction;
use store::shard::partition;
use store::shard::resend::{self, Resent};

use crate::audit::books::{Books, Holding};

const DAY: Duration = Duration::from_hours(24);
/// The closing sums of the first day.
const FIRST: &str = "2026-01-01 2 1 30001";

/// A charged, a lost and a released cargo on each of two days, and nothing under way.
async fn two_days() -> Books {
    let mut books = Books::open().await;
    for _ in 0..2 {
        let mut cargo = Vec::new();
        for holding in [Holding::Enough, Holding::TooLittle, Holding::Enough] {
            cargo.push(books.load(holding).await);
        }
        books.finish(&cargo[..2], true).await;
        books.finish(&cargo[2..], false).await;
        books.database.clock.advance(DAY);
    }
    books
}

async fn drop_before(books: &Books, days: i64) -> Vec<NaiveDate> {
    let before = books.database.clock.now() - TimeDelta::days(days);
    partition::drop_days(books.shard(), before).await.unwrap()
}

/// Day by day: settled, released, charged.
async fn closing(shard: &Shard) -> Vec<String> {
    let rows =
        "select concat_ws(' ', day, settled, released, charged) from shard.closing order by day";
    let rows = sqlx::query_scalar(rows).fetch_all(&shard.pool);
    rows.await.unwrap()
}

fn january(day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(2026, 1, day).unwrap()
}

fn clean() -> (String, String) {
    (String::new(), String::new())
}

#[tokio::test]
async fn a_dropped_day_leaves_its_sums_and_the_ledger_stays_clean() {
    let books = two_days().await;
    assert_eq!(books.found().await, clean());
    // The template's days begin two before.
    let dropped = drop_before(&books, 1).await;
    assert_eq!(dropped.last(), Some(&january(1)));
    assert_eq!(closing(books.shard()).await, [FIRST]);
    assert_eq!(books.found().await, clean());
    books.pay(Direction::Out, 1).await;

    assert_eq!(drop_before(&books, 0).await, [january(2)]);
    let second = FIRST.replace("01-01", "01-02");
    assert_eq!(closing(books.shard()).await, [FIRST, &second]);
    assert_eq!(books.found().await, clean());
    let examined = audit::whole(books.shard()).await.unwrap().examined;
    assert_eq!((examined.postings, examined.outcomes), (4, 0));
}

#[tokio::test]
async fn wrong_sums_of_a_dropped_day_are_found() {
    let books = two_days().await;
    drop_before(&books, 1).await;
    books
        .spoil("update shard.closing set charged = charged + 1")
        .await;
    let found = books.found().await;
    assert_eq!(found, ("charges".to_owned(), String::new()));
}

#[tokio::test]
async fn a_day_with_something_under_way_stays() {
    let mut books = two_days().await;
    books.load(Holding::Enough).await;
    books.database.clock.advance(DAY);
    books.database.clock.advance(DAY);
    let dropped = drop_before(&books, 0).await;
    assert_eq!(dropped.last(), Some(&january(2)));
    assert_eq!(books.found().await, clean());
}

#[tokio::test]
async fn a_dropping_that_was_stopped_halfway_is_finished() {
    for table in ["outcome", "attempt", "trouble", "request", "cargo"] {
        let books = two_days().await;
        let shard = books.shard();
        // The days before hold nothing; they go first, undisturbed.
        drop_before(&books, 2).await;
        // A reader stands in the way of the detaching.
        let mut reader = shard.background.begin().await.unwrap();
        let read = format!("select count(*) from shard.{table}");
        reader.execute(AssertSqlSafe(read)).await.unwrap();
        let before = books.database.clock.now() - TimeDelta::days(1);
        let stopped = partition::drop_days(shard, before).await;
        assert!(stopped.is_err(), "{table}");
        reader.rollback().await.unwrap();
        assert_eq!(closing(shard).await, [FIRST]);
        assert_eq!(books.found().await, clean(), "{table}");

        assert_eq!(drop_before(&books, 1).await, [january(1)], "{table}");
        assert_eq!(closing(shard).await, [FIRST]);
        assert_eq!(books.found().await, clean(), "{table}");
        let left = "select count(*) from pg_class where relname like '%_20260101'";
        let left = sqlx::query_scalar::<_, i64>(left).fetch_one(&shard.pool);
        assert_eq!(left.await.unwrap(), 0, "{table}");
    }
}

#[tokio::test]
async fn troubles_and_shares_go_with_their_day() {
    let mut books = two_days().await;
    let cargo = books.load(Holding::Enough).await;
    books.gather(cargo).await;
    let counts = || async {
        let mut counts = Vec::new();
        for table in ["trouble", "share"] {
            let count = format!("select count(*) from shard.{table}");
            let count = sqlx::query_scalar::<_, i64>(AssertSqlSafe(count));
            counts.push(count.fetch_one(&books.shard().pool).await.unwrap());
        }
        counts
    };
    assert_eq!(counts().await, [2, 1]);
    drop_before(&books, 0).await;
    assert_eq!(counts().await, [0, 1]);
    let later = books.database.clock.now() + TimeDelta::days(1);
    let ended = "update shard.cargo set completed_at = created_at, success = true";
    books.spoil(ended).await;
    partition::drop_days(books.shard(), later).await.unwrap();
    assert_eq!(counts().await, [0, 0]);
}

/// The first cargo, which is to be called back like all others.
async fn with_callback(shard: &Shard) -> (ProjectId, CargoId) {
    let all = "update shard.cargo set callback_url = 'http://quay/', callback_host = 'quay:80'";
    shard.pool.execute(all).await.unwrap();
    let first = |column| {
        let first = format!("select {column} from shard.cargo order by id limit 1");
        sqlx::query_scalar::<_, Uuid>(AssertSqlSafe(first)).fetch_one(&shard.pool)
    };
    let project = first("project").await.unwrap();
    (project.into(), first("id").await.unwrap().into())
}

#[tokio::test]
async fn what_is_being_dropped_is_not_sent_again() {
    let books = two_days().await;
    let shard = books.shard();
    let (project, cargo) = with_callback(shard).await;
    let now = books.database.clock.now();
    let sent = || resend::one(shard, project, cargo, now);
    drop_before(&books, 2).await;
    let mut reader = shard.background.begin().await.unwrap();
    let read = "select count(*) from shard.attempt";
    reader.execute(read).await.unwrap();
    let stopped = partition::drop_days(shard, now - TimeDelta::days(1)).await;
    assert!(stopped.is_err());
    assert_eq!(sent().await.unwrap(), Resent::NotFound);
    reader.rollback().await.unwrap();
    assert_eq!(drop_before(&books, 1).await, [january(1)]);
    assert_eq!(sent().await.unwrap(), Resent::NotFound);
}

#[tokio::test]
async fn what_is_to_be_sent_again_keeps_its_day() {
    let books = two_days().await;
    let shard = books.shard();
    let (project, cargo) = with_callback(shard).await;
    let now = books.database.clock.now();
    let sent = resend::one(shard, project, cargo, now).await;
    assert_eq!(sent.unwrap(), Resent::Queued);
    let dropped = drop_before(&books, 0).await;
    assert!(!dropped.contains(&january(1)), "{dropped:?}");
}

#[tokio::test]
async fn two_nodes_do_not_drop_at_once() {
    let books = two_days().await;
    let mut other = books.shard().begin().await.unwrap();
    let lock = "select pg_advisory_xact_lock(hashtext('longshore.drop_day'))";
    other.execute(lock).await.unwrap();
    assert_eq!(drop_before(&books, 1).await, []);
    other.rollback().await.unwrap();
    assert_ne!(drop_before(&books, 1).await, []);
}
