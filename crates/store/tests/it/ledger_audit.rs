//! The ledger audit: an untouched ledger has no faults, and every kind of corruption is found.

mod buckets;
mod dropped_days;
mod incremental;
pub(crate) mod ledger_fixture;
mod scale;

use std::time::Duration;

use domain::id::{ApiKeyId, CargoId};
use domain::money::Money;
use domain::time::Clock as _;
use store::shard::key_spending;
use store::shard::ledger_audit::{self, LedgerAuditCounts};

use crate::ledger_audit::ledger_fixture::{HoldKind, LedgerFixture, invariant_names};

#[tokio::test]
async fn an_untouched_ledger_has_no_faults() {
    let (books, _) = LedgerFixture::with_history().await;
    let report = ledger_audit::check_all(books.shard()).await.unwrap();
    assert_eq!(report.faults, []);
    let examined = LedgerAuditCounts {
        accounts: 1,
        postings: 3,
        open_holds: 3,
        outcomes: 4,
    };
    assert_eq!(report.counts, examined);
    assert_eq!(books.find_faults().await, (String::new(), String::new()));
}

/// Statements that spoil a ledger without faults, and the invariants that are broken then: by the
/// full check, by the audit if the rows changed since its last proof, and by the audit after it has
/// read all rows again if they did not.
type Corruption<'a> = (&'a str, &'a str, &'a str, &'a str);

async fn assert_faults(spoiled: &[Corruption<'_>]) {
    let mut wrong = Vec::new();
    for expected in spoiled {
        let statements = expected.0;
        let (books, cargo) = LedgerFixture::with_history().await;
        spoil(&books, statements, &cargo).await;
        // After this time, loads are certainly committed.
        books.database.clock.advance(Duration::from_mins(1));
        let (whole, changed) = books.find_faults().await;

        let (books, cargo) = LedgerFixture::with_history().await;
        books.database.clock.advance(Duration::from_mins(1));
        assert_eq!(books.audit().await, []);
        spoil(&books, statements, &cargo).await;
        let walked = invariant_names(&books.audit_everything().await);
        if (statements, &*whole, &*changed, &*walked) != *expected {
            wrong.push((statements, whole, changed, walked));
        }
    }
    assert_eq!(wrong, []);
}

/// C0 in the statements is the first cargo, C1 the second.
async fn spoil(books: &LedgerFixture, statements: &str, cargo: &[CargoId]) {
    let named = |text: String, (index, cargo): (usize, &CargoId)| {
        text.replace(&format!("C{index}"), &format!("'{}'", cargo.uuid()))
    };
    let statements = cargo.iter().enumerate().fold(statements.to_owned(), named);
    books.corrupt(&statements).await;
}

#[tokio::test]
async fn a_posting_that_does_not_balance_is_found() {
    let allow = "alter table shard.posting drop constraint posting_balanced;";
    assert_faults(&[
        (
            &format!("{allow} update shard.posting set funding = funding + 1 where number = 3"),
            "entries",
            "entries",
            "entries",
        ),
        (
            &format!("{allow} update shard.posting set loss = loss - 1 where number = 2"),
            "entries",
            "entries",
            "entries",
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_posting_that_is_missing_or_changed_is_found() {
    assert_faults(&[
        (
            "delete from shard.posting where number = 1",
            "account chain",
            "chain",
            "chain",
        ),
        (
            "delete from shard.posting where number = 3",
            "account",
            "account",
            "account",
        ),
        (
            "update shard.posting set balance = balance + 1 where number = 2",
            "chain",
            "chain",
            "chain",
        ),
        (
            "update shard.posting set credit = credit + 1, funding = funding - 1 where number = 1",
            "account chain",
            "chain",
            "chain",
        ),
        (
            "update shard.posting set number = 4 where number = 3",
            "account chain",
            "account chain",
            "account chain",
        ),
    ])
    .await;
}

#[tokio::test]
async fn an_account_that_says_something_else_is_found() {
    let allow = "alter table shard.account drop constraint account_never_overdrawn;";
    assert_faults(&[
        (
            "update shard.account set posted = posted + 1",
            "account",
            "account",
            "account",
        ),
        (
            "update shard.account set postings = postings + 1",
            "account",
            "account",
            "account",
        ),
        (
            "update shard.account set held = held + 1",
            "held",
            "held",
            "held",
        ),
        (
            "update shard.account set tokens_reserved = tokens_reserved - 1",
            "reserved",
            "reserved",
            "reserved",
        ),
        (
            "update shard.account set tokens_used = tokens_used + 1",
            "used",
            "used",
            "used",
        ),
        (
            &format!("{allow} update shard.account set held = posted + 1"),
            "held overdraft",
            "held overdraft",
            "held overdraft",
        ),
        (
            &format!("{allow} update shard.account set held = -1"),
            "held overdraft",
            "held overdraft",
            "held overdraft",
        ),
        (
            "delete from shard.account",
            "account held reserved",
            "charges held",
            "account held",
        ),
    ])
    .await;
}

#[tokio::test]
async fn cargo_and_outcome_that_do_not_match_are_found() {
    assert_faults(&[
        // Completed without an outcome: charged, failed, free.
        (
            "delete from shard.outcome where cargo = C0",
            "charges outcome settlement used",
            "charges outcome settlement used",
            "charges outcome settlement used",
        ),
        (
            "delete from shard.outcome where cargo = C4",
            "outcome",
            "outcome",
            "outcome",
        ),
        (
            "delete from shard.outcome where cargo = C3",
            "outcome",
            "outcome",
            "outcome",
        ),
        // An outcome of open cargo, and of cargo that does not exist.
        (
            "insert into shard.outcome (cargo, success, codec, body, input_tokens, output_tokens, charged)
             values (C6, false, 0, '', 0, 0, 0)",
            "outcome",
            "outcome",
            "outcome",
        ),
        (
            "delete from shard.cargo where id = C4",
            "charge outcome",
            "charge outcome",
            "charge outcome",
        ),
        (
            "update shard.outcome set success = true where cargo = C4",
            "outcome",
            "outcome",
            "outcome",
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_wrong_charge_is_found() {
    assert_faults(&[
        (
            "update shard.outcome set charged = 1 where cargo = C4",
            "charge charges posted",
            "charge charges posted",
            "charge charges posted",
        ),
        (
            "update shard.outcome set charged = null where cargo = C4",
            "charge",
            "charge",
            "charge",
        ),
        (
            "update shard.outcome set charged = 0 where cargo = C3",
            "charge",
            "charge",
            "charge",
        ),
        (
            "update shard.outcome set charged = 140001 where cargo = C0",
            "charge charges settlement",
            "charge charges settlement",
            "charge charges settlement",
        ),
        (
            "update shard.outcome set charged = -1 where cargo = C0",
            "charge charges settlement",
            "charge charges settlement",
            "charge charges settlement",
        ),
        (
            "update shard.outcome set input_tokens = 101 where cargo = C0",
            "charge settlement used",
            "charge settlement used",
            "charge settlement used",
        ),
        (
            "update shard.cargo set held = 29999 where id = C0",
            "charge",
            "charge",
            "charge",
        ),
    ])
    .await;
}

#[tokio::test]
async fn cargo_in_the_wrong_posting_is_found() {
    let again = "insert into shard.posting
            (organization, number, kind, at, credit, revenue, loss, funding, balance, cargo)
        select organization, 4, kind, at + interval '1 second', credit, revenue, loss, funding,
            9000000000 - 30001 + credit - credit, cargo
        from shard.posting where number = 2;";
    assert_faults(&[
        // Charged, and named in no posting.
        (
            "update shard.posting set cargo = array[C1]::uuid[] where number = 2",
            "posted settlement",
            "posted settlement",
            "posted settlement",
        ),
        // Named twice in one, and in two.
        (
            "update shard.posting set cargo = cargo || C0::uuid where number = 2",
            "posted settlement",
            "posted settlement",
            "posted settlement",
        ),
        (
            again,
            "account chain charges posted",
            "account chain charges posted",
            "account chain charges posted",
        ),
        // Cargo of another organization.
        (
            "update shard.cargo set organization = C7 where id = C1",
            "charges posted used",
            "charges posted used",
            "charges posted used",
        ),
        // Open cargo, and cargo that was never loaded.
        (
            "update shard.posting set cargo = cargo || C6::uuid where number = 2",
            "posted",
            "posted",
            "posted",
        ),
        (
            "update shard.posting set cargo = cargo || gen_random_uuid() where number = 2",
            "posted",
            "posted",
            "posted",
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_fault_says_where_it_is_and_what_it_should_be() {
    let (books, cargo) = LedgerFixture::with_history().await;
    books
        .corrupt(&format!(
            "update shard.outcome set charged = 29999 where cargo = '{}'",
            cargo[0].uuid()
        ))
        .await;
    let report = ledger_audit::check_all(books.shard()).await.unwrap();
    let lines: Vec<String> = report.faults.iter().map(ToString::to_string).collect();
    let organization = books.organization;
    let (first, expected) = (cargo[0], "what was used at the prices of the hold");
    assert_eq!(
        lines,
        [
            format!(
                "charge: {organization} {first} expected charged 30000, found charged 29999; a charge is {expected}, at most the hold, and nothing where cargo failed"
            ),
            format!(
                "settlement: {organization} posting 2 expected charged 30000, found charged 30001; a settlement equals the charges and the worth of its cargo"
            ),
            format!(
                "charges: {organization} expected 30000, found 30001; the settlements of an organization sum to its charges"
            ),
        ]
    );
}

#[tokio::test]
async fn a_row_of_a_capped_key_that_differs_from_its_cargo_is_found() {
    let mut books = LedgerFixture::open().await;
    let key = ApiKeyId::new(books.database.clock.now(), books.organization.berth(), 7);
    let mut cargo = Vec::new();
    for holding in [HoldKind::Enough, HoldKind::Enough, HoldKind::Enough] {
        cargo.push(books.load_capped(holding, Some(key)).await);
    }
    books.load(HoldKind::Enough).await;
    books.finish(&cargo[..1], true).await;
    books.finish(&cargo[1..2], false).await;
    assert_eq!(books.find_faults().await, (String::new(), String::new()));
    let month = chrono::NaiveDate::from_ymd_opt(2026, 1, 1).unwrap();
    let row = key_spending::list(books.shard(), &[key], month).await;
    let row = row.unwrap()[0];
    // One hold is open; one cargo was charged, and one was released.
    assert_eq!((row.held, row.spent), (Money(140_000), Money(30_000)));
    for (statement, undo, fault) in [
        ("set held = held + 1", "set held = held - 1", "key_held"),
        (
            "set spent = spent - 1",
            "set spent = spent + 1",
            "key_spent",
        ),
        (
            "set month = '2025-12-01'",
            "set month = '2026-01-01'",
            "key_held key_spent",
        ),
    ] {
        let update = |change: &str| format!("update shard.key_spending {change}");
        books.corrupt(&update(statement)).await;
        assert_eq!(
            books.find_faults().await,
            (fault.to_owned(), fault.to_owned())
        );
        books.corrupt(&update(undo)).await;
    }
    books.corrupt("delete from shard.key_spending").await;
    assert_eq!(books.find_faults().await.0, "key_held key_spent");
}
