//! The ledger audit: an untouched ledger has no faults, and every kind of corruption is found.

mod buckets;
mod dropped_days;
pub(crate) mod ledger_fixture;

use domain::id::{ApiKeyId, CargoId};
use domain::money::Money;
use domain::time::Clock as _;
use store::shard::credit::PaymentDirection;
use store::shard::key_spending;
use store::shard::ledger_audit::{self, LedgerAuditCounts};

use crate::ledger_audit::ledger_fixture::{HoldKind, LedgerFixture};

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

/// The faults that are found after each of these statements, on a ledger without faults.
async fn assert_faults(spoiled: &[(&str, &str, &str)]) {
    for (statements, whole, recent) in spoiled {
        let (books, cargo) = LedgerFixture::with_history().await;
        let named = |text: &str, index: usize, cargo: CargoId| {
            text.replace(&format!("C{index}"), &format!("'{}'", cargo.uuid()))
        };
        let statements = cargo
            .iter()
            .enumerate()
            .fold((*statements).to_owned(), |text, (index, cargo)| {
                named(&text, index, *cargo)
            });
        books.corrupt(&statements).await;
        let expected = ((*whole).to_owned(), (*recent).to_owned());
        assert_eq!(books.find_faults().await, expected, "{statements}");
    }
}

#[tokio::test]
async fn a_posting_that_does_not_balance_is_found() {
    let allow = "alter table shard.posting drop constraint posting_balanced;";
    assert_faults(&[
        (
            &format!("{allow} update shard.posting set funding = funding + 1 where number = 3"),
            "entries",
            "entries",
        ),
        (
            &format!("{allow} update shard.posting set loss = loss - 1 where number = 2"),
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
        ),
        (
            "delete from shard.posting where number = 3",
            "account",
            "account",
        ),
        (
            "update shard.posting set balance = balance + 1 where number = 2",
            "chain",
            "chain",
        ),
        (
            "update shard.posting set credit = credit + 1, funding = funding - 1 where number = 1",
            "account chain",
            "chain",
        ),
        (
            "update shard.posting set number = 4 where number = 3",
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
        ),
        (
            "update shard.account set postings = postings + 1",
            "account",
            "account",
        ),
        ("update shard.account set held = held + 1", "held", "held"),
        (
            "update shard.account set tokens_reserved = tokens_reserved - 1",
            "reserved",
            "reserved",
        ),
        (
            "update shard.account set tokens_used = tokens_used + 1",
            "used",
            "",
        ),
        (
            &format!("{allow} update shard.account set held = posted + 1"),
            "held overdraft",
            "held overdraft",
        ),
        (
            &format!("{allow} update shard.account set held = -1"),
            "held overdraft",
            "held overdraft",
        ),
        (
            "delete from shard.account",
            "account held reserved",
            "held reserved",
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
            "settlement",
        ),
        (
            "delete from shard.outcome where cargo = C4",
            "outcome",
            "",
        ),
        (
            "delete from shard.outcome where cargo = C3",
            "outcome",
            "",
        ),
        // An outcome of open cargo, and of cargo that does not exist.
        (
            "insert into shard.outcome (cargo, success, codec, body, input_tokens, output_tokens, charged)
             values (C6, false, 0, '', 0, 0, 0)",
            "outcome",
            "",
        ),
        ("delete from shard.cargo where id = C4", "charge outcome", ""),
        (
            "update shard.outcome set success = true where cargo = C4",
            "outcome",
            "",
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
            "",
        ),
        (
            "update shard.outcome set charged = null where cargo = C4",
            "charge",
            "",
        ),
        (
            "update shard.outcome set charged = 0 where cargo = C3",
            "charge",
            "",
        ),
        (
            "update shard.outcome set charged = 140001 where cargo = C0",
            "charge charges settlement",
            "settlement",
        ),
        (
            "update shard.outcome set charged = -1 where cargo = C0",
            "charge charges settlement",
            "settlement",
        ),
        (
            "update shard.outcome set input_tokens = 101 where cargo = C0",
            "charge settlement used",
            "settlement",
        ),
        (
            "update shard.cargo set held = 29999 where id = C0",
            "charge",
            "",
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
            "settlement",
        ),
        // Named twice in one, and in two.
        (
            "update shard.posting set cargo = cargo || C0::uuid where number = 2",
            "posted settlement",
            "settlement",
        ),
        (
            again,
            "account chain charges posted",
            "account chain posted",
        ),
        // Cargo of another organization.
        (
            "update shard.cargo set organization = C7 where id = C1",
            "charges posted used",
            "posted",
        ),
        // Open cargo, and cargo that was never loaded.
        (
            "update shard.posting set cargo = cargo || C6::uuid where number = 2",
            "posted",
            "posted",
        ),
        (
            "update shard.posting set cargo = cargo || gen_random_uuid() where number = 2",
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
async fn old_postings_are_left_to_the_full_check() {
    let (books, _) = LedgerFixture::with_history().await;
    books
        .database
        .clock
        .advance(std::time::Duration::from_mins(2));
    books.pay(PaymentDirection::In, 1).await;
    books
        .corrupt("update shard.posting set balance = balance + 1 where number = 2")
        .await;
    assert_eq!(
        books.find_faults().await,
        ("chain".to_owned(), String::new())
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
    let row = key_spending::list(books.shard(), &[key], january()).await;
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
        assert_eq!(books.find_faults().await, (fault.to_owned(), String::new()));
        books.corrupt(&update(undo)).await;
    }
    books.corrupt("delete from shard.key_spending").await;
    assert_eq!(books.find_faults().await.0, "key_held key_spent");
}

fn january() -> chrono::NaiveDate {
    chrono::NaiveDate::from_ymd_opt(2026, 1, 1).unwrap()
}
