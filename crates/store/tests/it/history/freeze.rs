//! A closed day is frozen once; a day with something open is not.

use std::time::Duration;

use chrono::NaiveDate;
use domain::time::Clock as _;
use store::shard::history::freeze;
use store::shard::partition;

use super::{days_ago, read};
use crate::ledger_audit::ledger_fixture::{HoldKind, LedgerFixture};

const DAY: Duration = Duration::from_hours(24);

fn january(day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(2026, 1, day).unwrap()
}

async fn freeze_all(books: &LedgerFixture, before: NaiveDate) -> Vec<NaiveDate> {
    let mut frozen = Vec::new();
    while let Some(day) = freeze::freeze_next_day(books.shard(), before)
        .await
        .unwrap()
    {
        frozen.push(day);
    }
    frozen
}

#[tokio::test]
async fn a_closed_day_is_frozen_once_and_an_open_one_is_not() {
    let mut books = LedgerFixture::open().await;
    let cargo = books.load(HoldKind::Enough).await;
    books.finish(&[cargo], true).await;
    books.database.clock.advance(DAY);
    let open = books.load(HoldKind::Enough).await;
    books.database.clock.advance(DAY);
    let frozen = freeze_all(&books, january(5)).await;
    assert!(frozen.contains(&january(1)), "{frozen:?}");
    assert!(!frozen.contains(&january(2)), "{frozen:?}");
    let pool = &books.shard().pool;
    // Every page is marked, so that no later vacuum reads it.
    let marked = |day: &str| {
        format!(
            "select relpages > 0 and relallvisible = relpages from pg_class
            where relname in ('cargo_{day}', 'outcome_{day}', 'request_{day}')"
        )
    };
    assert_eq!(read(pool, &marked("20260101")).await, "true true true");
    assert_eq!(freeze_all(&books, january(5)).await, []);
    books.finish(&[open], true).await;
    assert_eq!(freeze_all(&books, january(5)).await, [january(2)]);
    // Days that still get cargo are not touched.
    assert_eq!(freeze_all(&books, january(5)).await, []);
}

#[tokio::test]
async fn a_dropped_day_is_forgotten() {
    let books = LedgerFixture::open().await;
    books.database.clock.advance(DAY * 3);
    freeze_all(&books, january(3)).await;
    partition::drop_days(books.shard(), days_ago(&books.database, 1))
        .await
        .unwrap();
    assert_eq!(freeze_all(&books, january(3)).await, []);
    assert_eq!(freeze::list_frozen_days(books.shard()).await.unwrap(), []);
    assert!(books.database.clock.now().date_naive() > january(3));
}
