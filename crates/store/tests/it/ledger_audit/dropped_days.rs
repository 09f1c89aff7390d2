//! Dropped days, and the closing balances that stay.

use std::time::Duration;

use chrono::{NaiveDate, TimeDelta};
use domain::id::{CargoId, ProjectId};
use domain::time::Clock as _;
use sqlx::types::Uuid;
use sqlx::{AssertSqlSafe, Executor as _};
use store::Shard;
use store::shard::credit::PaymentDirection;
use store::shard::ledger_audit;
use store::shard::partition;
use store::shard::resend::{self, ResendResult};

use crate::ledger_audit::ledger_fixture::{HoldKind, LedgerFixture, invariant_names};

const DAY: Duration = Duration::from_hours(24);
/// The closing balances of the first day.
const FIRST_DAY_SUMS: &str = "2026-01-01 2 1 30001";

/// A charged, a lost and a released cargo on each of two days, and no open cargo.
async fn two_days() -> LedgerFixture {
    let mut books = LedgerFixture::open().await;
    for _ in 0..2 {
        let mut cargo = Vec::new();
        for holding in [HoldKind::Enough, HoldKind::Insufficient, HoldKind::Enough] {
            cargo.push(books.load(holding).await);
        }
        books.finish(&cargo[..2], true).await;
        books.finish(&cargo[2..], false).await;
        books.database.clock.advance(DAY);
    }
    books
}

async fn drop_before(books: &LedgerFixture, days: i64) -> Vec<NaiveDate> {
    let before = books.database.clock.now() - TimeDelta::days(days);
    partition::drop_days(books.shard(), before).await.unwrap()
}

/// Day by day: settled, released, charged.
async fn read_closing_balances(shard: &Shard) -> Vec<String> {
    let rows =
        "select concat_ws(' ', day, settled, released, charged) from shard.closing order by day";
    let rows = sqlx::query_scalar(rows).fetch_all(&shard.pool);
    rows.await.unwrap()
}

fn january(day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(2026, 1, day).unwrap()
}

fn no_faults() -> (String, String) {
    (String::new(), String::new())
}

#[tokio::test]
async fn a_dropped_day_leaves_its_sums_and_the_ledger_stays_clean() {
    let books = two_days().await;
    assert_eq!(books.find_faults().await, no_faults());
    // The template's partitions begin two days earlier.
    let dropped = drop_before(&books, 1).await;
    assert_eq!(dropped.last(), Some(&january(1)));
    assert_eq!(read_closing_balances(books.shard()).await, [FIRST_DAY_SUMS]);
    assert_eq!(books.find_faults().await, no_faults());
    books.pay(PaymentDirection::Out, 1).await;

    assert_eq!(drop_before(&books, 0).await, [january(2)]);
    let second = FIRST_DAY_SUMS.replace("01-01", "01-02");
    assert_eq!(
        read_closing_balances(books.shard()).await,
        [FIRST_DAY_SUMS, &second]
    );
    assert_eq!(books.find_faults().await, no_faults());
    let examined = ledger_audit::check_all(books.shard()).await.unwrap().counts;
    assert_eq!((examined.postings, examined.outcomes), (4, 0));
}

#[tokio::test]
async fn wrong_sums_of_a_dropped_day_are_found() {
    let books = two_days().await;
    drop_before(&books, 1).await;
    books
        .corrupt("update shard.closing set charged = charged + 1")
        .await;
    let found = books.find_faults().await;
    assert_eq!(found, ("charges".to_owned(), "charges".to_owned()));
}

#[tokio::test]
async fn the_sums_of_dropped_days_are_read_by_the_pass_and_not_every_minute() {
    let books = two_days().await;
    drop_before(&books, 1).await;
    assert_eq!(books.audit().await, []);
    books
        .corrupt("update shard.closing set charged = charged + 1")
        .await;
    assert_eq!(books.audit().await, []);
    let faults = books.audit_everything().await;
    assert_eq!(invariant_names(&faults), "charges");
}

#[tokio::test]
async fn a_day_with_something_under_way_stays() {
    let mut books = two_days().await;
    books.load(HoldKind::Enough).await;
    books.database.clock.advance(DAY);
    books.database.clock.advance(DAY);
    let dropped = drop_before(&books, 0).await;
    assert_eq!(dropped.last(), Some(&january(2)));
    assert_eq!(books.find_faults().await, no_faults());
}

#[tokio::test]
async fn a_dropping_that_was_stopped_halfway_is_finished() {
    for table in ["outcome", "attempt", "trouble", "request", "cargo"] {
        let books = two_days().await;
        let shard = books.shard();
        // Drops the earlier days, which are empty.
        drop_before(&books, 2).await;
        // A reader blocks the detaching.
        let mut reader = shard.background.begin().await.unwrap();
        let read = format!("select count(*) from shard.{table}");
        reader.execute(AssertSqlSafe(read)).await.unwrap();
        let before = books.database.clock.now() - TimeDelta::days(1);
        let stopped = partition::drop_days(shard, before).await;
        assert!(stopped.is_err(), "{table}");
        reader.rollback().await.unwrap();
        assert_eq!(read_closing_balances(shard).await, [FIRST_DAY_SUMS]);
        assert_eq!(books.find_faults().await, no_faults(), "{table}");

        assert_eq!(drop_before(&books, 1).await, [january(1)], "{table}");
        assert_eq!(read_closing_balances(shard).await, [FIRST_DAY_SUMS]);
        assert_eq!(books.find_faults().await, no_faults(), "{table}");
        let left = "select count(*) from pg_class where relname like '%_20260101'";
        let left = sqlx::query_scalar::<_, i64>(left).fetch_one(&shard.pool);
        assert_eq!(left.await.unwrap(), 0, "{table}");
    }
}

#[tokio::test]
async fn failures_and_batch_shares_are_dropped_with_their_day() {
    let mut books = two_days().await;
    let cargo = books.load(HoldKind::Enough).await;
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
    books.corrupt(ended).await;
    partition::drop_days(books.shard(), later).await.unwrap();
    assert_eq!(counts().await, [0, 0]);
}

/// Gives all cargo a callback, and returns the first one.
async fn with_callback(shard: &Shard) -> (ProjectId, CargoId) {
    let all = "update shard.cargo set callback_url = 'http://demo/', callback_host = 'demo:80'";
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
    let sent = || resend::queue_one(shard, project, cargo, now);
    drop_before(&books, 2).await;
    let mut reader = shard.background.begin().await.unwrap();
    let read = "select count(*) from shard.attempt";
    reader.execute(read).await.unwrap();
    let stopped = partition::drop_days(shard, now - TimeDelta::days(1)).await;
    assert!(stopped.is_err());
    assert_eq!(sent().await.unwrap(), ResendResult::NotFound);
    reader.rollback().await.unwrap();
    assert_eq!(drop_before(&books, 1).await, [january(1)]);
    assert_eq!(sent().await.unwrap(), ResendResult::NotFound);
}

#[tokio::test]
async fn what_is_to_be_sent_again_keeps_its_day() {
    let books = two_days().await;
    let shard = books.shard();
    let (project, cargo) = with_callback(shard).await;
    let now = books.database.clock.now();
    let sent = resend::queue_one(shard, project, cargo, now).await;
    assert_eq!(sent.unwrap(), ResendResult::Queued);
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
