//! Postings leave only behind an opening balance. The ledger stays provable.

use std::time::Duration;

use chrono::TimeDelta;
use domain::id::{ApiKeyId, Berth};
use domain::money::Money;
use domain::time::{Clock as _, Timestamp};
use store::shard::credit::{self, Payment, PaymentDirection, PaymentResult};
use store::shard::history::ledger;
use store::shard::{ledger_audit, partition, statement};

use super::read;
use crate::ledger_audit::ledger_fixture::{HoldKind, LedgerFixture, invariant_names};

const MONTH: Duration = Duration::from_hours(31 * 24);
const OPENING: &str =
    "select concat_ws(' ', number, balance, settled, charged, closed_day) from shard.opening";
const NUMBERS: &str = "select number from shard.posting order by number";

fn no_faults() -> (String, String) {
    (String::new(), String::new())
}

/// A payment and two settlements, all of whose cargo is dropped. Then a month without any.
async fn old_ledger() -> LedgerFixture {
    let mut books = LedgerFixture::open().await;
    for _ in 0..2 {
        let key = ApiKeyId::new(books.database.clock.now(), Berth::new(1).unwrap(), 9);
        let cargo = [
            books.load_capped(HoldKind::Enough, Some(key)).await,
            books.load(HoldKind::Insufficient).await,
            books.load(HoldKind::Enough).await,
        ];
        books.finish(&cargo[..2], true).await;
        books.finish(&cargo[2..], false).await;
        books.database.clock.advance(Duration::from_hours(24));
    }
    let now = books.database.clock.advance(MONTH);
    drop_old_days(&books, now).await;
    books
}

/// As sweep does.
async fn drop_old_days(books: &LedgerFixture, now: Timestamp) {
    partition::make_days(books.shard(), now).await.unwrap();
    partition::drop_days(books.shard(), now - TimeDelta::days(5))
        .await
        .unwrap();
}

/// Closes what is older than this, as sweep does.
async fn close_before(books: &LedgerFixture, before: Timestamp, most: i64) {
    let shard = books.shard();
    while ledger::delete_key_months(shard, before, most)
        .await
        .unwrap()
        > 0
    {}
    let page = ledger::list_organizations(shard, None, before, 10).await;
    for (organization, is_due) in page.unwrap() {
        while is_due
            && ledger::close(shard, organization, before, most)
                .await
                .unwrap()
                == most.unsigned_abs()
        {}
    }
}

#[tokio::test]
async fn old_postings_leave_behind_an_opening_balance_and_the_ledger_stays_clean() {
    let mut books = old_ledger().await;
    let pool = &books.shard().pool;
    assert_eq!(read(pool, NUMBERS).await, "1 2 3");
    assert_eq!(books.find_faults().await, no_faults());
    assert_eq!(books.audit_everything().await, []);
    let now = books.database.clock.now();
    // A posting at a time: the numbers have no gap in between.
    close_before(&books, now - TimeDelta::days(1), 1).await;
    let pool = &books.shard().pool;
    assert_eq!(read(pool, NUMBERS).await, "");
    assert_eq!(
        read(pool, OPENING).await,
        "3 9999939998 60002 60002 2026-01-02"
    );
    assert_eq!(read(pool, "select day from shard.closing").await, "");
    let months = "select month from shard.key_spending";
    assert_eq!(read(pool, months).await, "");
    assert_eq!(books.find_faults().await, no_faults());
    // The sums of this pass were made before the postings left, those of the next one after.
    assert_eq!(books.audit().await, []);
    assert_eq!(books.audit_everything().await, []);
    // The next posting continues the numbers and the balance.
    let cargo = books.load(HoldKind::Enough).await;
    books.finish(&[cargo], true).await;
    books.pay(PaymentDirection::Out, 1).await;
    let pool = &books.shard().pool;
    assert_eq!(read(pool, NUMBERS).await, "4 5");
    assert_eq!(books.find_faults().await, no_faults());
    let counts = ledger_audit::check_all(books.shard()).await.unwrap().counts;
    assert_eq!(counts.postings, 2);
    assert_eq!(books.audit().await, []);
    assert_eq!(books.audit_everything().await, []);
    books
        .corrupt("update shard.opening set settled = settled + 1, balance = balance + 1")
        .await;
    let faults = invariant_names(&books.audit_everything().await);
    assert_eq!(faults, "chain charges");
}

#[tokio::test]
async fn a_second_closing_adds_to_the_opening_balance() {
    let mut books = old_ledger().await;
    let now = books.database.clock.now();
    close_before(&books, now - TimeDelta::days(1), 100).await;
    let cargo = books.load(HoldKind::Enough).await;
    books.finish(&[cargo], true).await;
    let now = books.database.clock.advance(MONTH);
    drop_old_days(&books, now).await;
    close_before(&books, now - TimeDelta::days(1), 100).await;
    let pool = &books.shard().pool;
    assert_eq!(
        read(pool, OPENING).await,
        "4 9999909998 90002 90002 2026-02-03"
    );
    assert_eq!(books.find_faults().await, no_faults());
}

#[tokio::test]
async fn younger_postings_and_the_closing_balances_of_their_month_stay() {
    let books = old_ledger().await;
    // After the payment and the first settlement, before the second.
    let middle = books.database.clock.now() - TimeDelta::days(31) - TimeDelta::hours(30);
    close_before(&books, middle, 100).await;
    let pool = &books.shard().pool;
    assert_eq!(read(pool, NUMBERS).await, "3");
    assert_eq!(read(pool, OPENING).await, "2 9999969999 30001 0");
    let days = "select day from shard.closing order by day";
    assert_eq!(read(pool, days).await, "2026-01-01 2026-01-02");
    let months = "select month from shard.key_spending group by 1";
    assert_eq!(read(pool, months).await, "2026-01-01");
    assert_eq!(books.find_faults().await, no_faults());
}

#[tokio::test]
async fn a_statement_begins_with_the_opening_balance() {
    let books = old_ledger().await;
    let (shard, organization) = (books.shard(), books.organization);
    let middle = books.database.clock.now() - TimeDelta::days(31) - TimeDelta::hours(30);
    close_before(&books, middle, 100).await;
    let kept = statement::find_range(shard, organization, None, None)
        .await
        .unwrap();
    assert_eq!((kept.first, kept.end), (3, 4));
    assert_eq!(
        (kept.opening, kept.closing),
        (Money(9_999_969_999), Money(9_999_939_998))
    );
    let lines = statement::list_lines(shard, organization, kept, kept.first, 10).await;
    assert_eq!(lines.unwrap().len(), 1);
    // A range before everything that is kept has no line, and the balance of its end.
    let before = statement::find_range(shard, organization, None, Some(middle)).await;
    let before = before.unwrap();
    assert_eq!((before.first, before.end), (3, 3));
    assert_eq!(before.closing, kept.opening);
    // Without any posting left, the next number follows the opening balance.
    close_before(&books, books.database.clock.now(), 100).await;
    let empty = statement::find_range(shard, organization, None, None).await;
    let empty = empty.unwrap();
    assert_eq!((empty.first, empty.end), (4, 4));
    assert_eq!((empty.opening, empty.closing), (kept.closing, kept.closing));
}

#[tokio::test]
async fn a_posting_leaves_only_if_an_opening_balance_stands_for_it() {
    let books = old_ledger().await;
    let middle = books.database.clock.now() - TimeDelta::days(31) - TimeDelta::hours(30);
    close_before(&books, middle, 100).await;
    let pool = &books.shard().pool;
    for statement in [
        "delete from shard.posting where number = 3",
        "update shard.posting set note = 'x' where number = 3",
        "truncate shard.posting",
    ] {
        let changed = sqlx::raw_sql(statement).execute(pool).await;
        let refused = changed.unwrap_err().to_string();
        assert!(refused.contains("append-only"), "{statement}: {refused}");
    }
}

#[tokio::test]
async fn a_wrong_opening_balance_is_found() {
    for (change, expected) in [
        ("balance = balance + 1", ("account chain", "account")),
        ("number = number - 1", ("account chain", "account")),
        ("settled = settled + 1", ("charges", "charges")),
        ("charged = charged + 1", ("charges", "charges")),
    ] {
        let books = old_ledger().await;
        close_before(&books, books.database.clock.now(), 100).await;
        books
            .corrupt(&format!("update shard.opening set {change}"))
            .await;
        // Some faults show only when a posting follows.
        let found = books.find_faults().await;
        let expected = (expected.0.replace(" chain", ""), expected.1.to_owned());
        assert_eq!(found, expected, "{change}");
    }
}

#[tokio::test]
async fn closing_balances_that_leave_while_a_pass_is_current_are_no_fault() {
    let mut books = LedgerFixture::open().await;
    let old = books.load(HoldKind::Enough).await;
    books.finish(&[old], true).await;
    books.database.clock.advance(Duration::from_mins(1));
    assert_eq!(books.audit().await, []);
    // The pass has read the cargo of a day that is then dropped and whose closing balance leaves.
    books.database.clock.advance(Duration::from_hours(48));
    let now = books.database.clock.advance(MONTH);
    partition::make_days(books.shard(), now).await.unwrap();
    let new = books.load(HoldKind::Enough).await;
    books.finish(&[new], true).await;
    let now = books.database.clock.advance(Duration::from_mins(1));
    assert_eq!(books.audit().await, []);
    drop_old_days(&books, now).await;
    assert_eq!(books.find_faults().await, no_faults());
    close_before(&books, now - TimeDelta::days(1), 100).await;
    let pool = &books.shard().pool;
    assert_eq!(
        read(pool, OPENING).await,
        "2 9999970000 30000 30000 2026-01-01"
    );
    let passes = "select number from shard.ledger_pass";
    assert_eq!(read(pool, passes).await, "1");
    assert_eq!(books.find_faults().await, no_faults());
    assert_eq!(books.audit_everything().await, []);
}

#[tokio::test]
async fn an_idle_month_of_tokens_is_no_fault_after_its_days_have_left() {
    let mut books = LedgerFixture::open().await;
    let cargo = books.load(HoldKind::Tokens).await;
    books.finish(&[cargo], true).await;
    let now = books.database.clock.advance(MONTH);
    drop_old_days(&books, now).await;
    close_before(&books, now, 100).await;
    assert_eq!(books.find_faults().await, no_faults());
}

#[tokio::test]
async fn a_reference_is_remembered_as_long_as_its_posting() {
    let books = old_ledger().await;
    let payment = Payment {
        amount: Money(5),
        direction: PaymentDirection::In,
        reference: Some("invoice 7".to_owned()),
        note: None,
    };
    let now = books.database.clock.now();
    let pay = || credit::pay(books.shard(), books.organization, &payment, now);
    assert!(matches!(
        pay().await.unwrap(),
        PaymentResult::Posted { number: 4, .. }
    ));
    close_before(&books, now, 100).await;
    assert!(matches!(
        pay().await.unwrap(),
        PaymentResult::AlreadyPosted { number: 4, .. }
    ));
}
