//! Account statements: their postings, and that one ends where the next begins.

use std::time::Duration;

use domain::ledger::PostingKind;
use domain::money::Money;
use domain::time::{Clock as _, Timestamp};
use store::shard::credit::PaymentDirection;
use store::shard::statement::{self, StatementLine, StatementRange};

use crate::ledger_audit::ledger_fixture::{HoldKind, LedgerFixture};

const MINUTE: Duration = Duration::from_mins(1);

async fn span(
    books: &LedgerFixture,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
) -> StatementRange {
    let span = statement::find_range(books.shard(), books.organization, since, until);
    span.await.unwrap()
}

async fn page(
    books: &LedgerFixture,
    span: StatementRange,
    from: u64,
    limit: u32,
) -> Vec<StatementLine> {
    let page = statement::list_lines(books.shard(), books.organization, span, from, limit);
    page.await.unwrap()
}

fn numbers(lines: &[StatementLine]) -> Vec<u64> {
    lines.iter().map(|line| line.number).collect()
}

#[tokio::test]
async fn a_statement_is_read_page_by_page() {
    let (books, _) = LedgerFixture::with_history().await;
    let all = span(&books, None, None).await;
    assert_eq!((all.first, all.end), (1, 4));
    assert_eq!(
        (all.opening, all.closing),
        (Money::ZERO, Money(8_999_969_999))
    );
    assert_eq!(numbers(&page(&books, all, 1, 2).await), [1, 2]);
    let last = page(&books, all, 3, 2).await;
    assert_eq!(numbers(&last), [3]);
    assert_eq!(last[0].kind, PostingKind::Withdrawal);
    let settled = &page(&books, all, 2, 1).await[0];
    assert_eq!((settled.kind, settled.cargo), (PostingKind::Settlement, 2));
    // The second cargo held only one nano-dollar: 29,999 of its 30,000 are a loss.
    assert_eq!(settled.entries.credit, Money(-30_001));
    assert_eq!(settled.entries.loss, Money(-29_999));
    assert_eq!(settled.entries.revenue, Money(60_000));
    assert_eq!(settled.entries.sum(), Money::ZERO);
}

#[tokio::test]
async fn one_statement_ends_where_the_next_begins() {
    let mut books = LedgerFixture::open().await;
    let mut moments = vec![books.database.clock.now()];
    for nanos in 1..=4 {
        moments.push(books.database.clock.advance(MINUTE));
        books.pay(PaymentDirection::In, nanos).await;
    }
    // Written last by a clock that is behind: it keeps its number.
    let cargo = books.load(HoldKind::Enough).await;
    books.finish(&[cargo], true).await;
    books
        .corrupt(
            "update shard.posting set at = at - interval '3 minutes' where number = 6;
             update shard.cargo set completed_at = completed_at - interval '3 minutes'",
        )
        .await;
    for border in moments {
        let before = span(&books, None, Some(border)).await;
        let after = span(&books, Some(border), None).await;
        assert_eq!((before.first, after.end), (1, 7));
        assert_eq!(before.end, after.first);
        assert_eq!(before.closing, after.opening);
    }
    let beyond = books.database.clock.advance(MINUTE);
    let empty = span(&books, Some(beyond), None).await;
    assert_eq!((empty.first, empty.end), (7, 7));
    assert_eq!(empty.opening, empty.closing);
    assert_eq!(page(&books, empty, 1, 10).await, []);
    let reversed = span(&books, Some(beyond), Some(beyond - MINUTE * 5)).await;
    assert_eq!(reversed.first, reversed.end);
}
