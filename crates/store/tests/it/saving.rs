//! Savings: the same before and after the counts are folded.

use std::time::Duration;

use domain::id::ProjectId;
use domain::money::Money;
use domain::saving::Saving;
use domain::time::Timestamp;
use domain::token_buckets::TokenBuckets;
use store::shard::saving::{self, ModelSavings};
use store::shard::usage;

use crate::ledger_audit::ledger_fixture::{HoldKind, LedgerFixture};

async fn list(books: &LedgerFixture, since: Option<Timestamp>) -> Vec<ModelSavings> {
    saving::list(books.shard(), None, since).await.unwrap()
}

/// Two hours: in each, one cargo that is worth 30,000 nano-dollars succeeds and one fails.
async fn two_hours() -> (LedgerFixture, Timestamp) {
    let mut books = LedgerFixture::open().await;
    for success in [true, false] {
        let cargo = books.load(HoldKind::Enough).await;
        books.finish(&[cargo], success).await;
    }
    let later = books.database.clock.advance(Duration::from_hours(1));
    // The second cargo is charged one nano-dollar, and saves the rest.
    for holding in [HoldKind::Enough, HoldKind::Insufficient, HoldKind::Tokens] {
        let cargo = books.load(holding).await;
        books.finish(&[cargo], true).await;
    }
    (books, later)
}

#[tokio::test]
async fn savings_are_those_of_priced_cargo_that_succeeded() {
    let (books, later) = two_hours().await;
    // Each hour has a different project.
    let [first, second] = &list(&books, None).await[..] else {
        panic!("two projects");
    };
    assert_eq!((first.model.as_str(), first.cargo), ("priced", 1));
    assert_eq!(first.charged, Money(30_000));
    assert_eq!(first.saving, Saving::between(Money(60_000), Money(30_000)));

    assert_eq!(second.cargo, 3);
    assert_eq!(second.charged, Money(30_001));
    let (realtime, saved) = (Money(120_000), Money(89_999));
    assert_eq!(second.saving, Saving { realtime, saved });
    assert_eq!(
        list(&books, Some(later)).await,
        std::slice::from_ref(second)
    );
}

#[tokio::test]
async fn folding_changes_no_sum() {
    let (books, later) = two_hours().await;
    let before = (list(&books, None).await, list(&books, Some(later)).await);
    // A few at a time, so that the sums are also read when half of them are folded.
    while usage::fold(books.shard(), 0, 2).await.unwrap() > 0 {
        let now = (list(&books, None).await, list(&books, Some(later)).await);
        assert_eq!(now, before);
    }
}

#[tokio::test]
async fn only_the_projects_that_are_asked_for() {
    let (books, later) = two_hours().await;
    let all = list(&books, None).await;
    let other = ProjectId::new(later, books.organization.berth(), 9);
    let of = async |projects: &[ProjectId]| {
        let saved = saving::list(books.shard(), Some(projects), None);
        saved.await.unwrap()
    };
    assert_eq!(of(&[other]).await, []);
    assert_eq!(of(&[]).await, []);
    let project = all[0].project;
    let some = of(&[project, other]).await;
    assert!(some.iter().all(|it| it.project == project) && !some.is_empty());
}

#[tokio::test]
async fn our_cost_is_that_of_all_attempts_and_of_failures_too() {
    let mut books = LedgerFixture::open().await;
    let good = books.load(HoldKind::Enough).await;
    let bad = books.load(HoldKind::Enough).await;
    let unknown = books.load(HoldKind::Enough).await;
    let earlier = format!(
        "update shard.cargo set earlier_cost = 5 where id in ('{}', '{}')",
        good.uuid(),
        bad.uuid()
    );
    books.corrupt(&earlier).await;
    let used = TokenBuckets {
        fresh: 100,
        output: 50,
        ..TokenBuckets::default()
    };
    let none = TokenBuckets::default();
    books
        .finish_with(&[good], true, used, Some(Money(20_000)))
        .await;
    books.finish_with(&[bad], false, none, Some(Money(7))).await;
    books.finish_with(&[unknown], false, none, None).await;
    for _ in 0..2 {
        let [sum] = &list(&books, None).await[..] else {
            unreachable!("one project");
        };
        assert_eq!((sum.cargo, sum.charged), (1, Money(30_000)));
        assert_eq!(sum.cost, Money(20_000 + 5 + 7 + 5));
        while usage::fold(books.shard(), 0, 10).await.unwrap() > 0 {}
    }
}
