//! The proof of the ledger: honest books are clean, and each way of spoiling them is found.

pub(crate) mod books;
mod days;

use domain::id::CargoId;
use store::shard::audit::{self, Examined};
use store::shard::credit::Direction;

use crate::audit::books::Books;

#[tokio::test]
async fn honest_books_are_clean() {
    let (books, _) = Books::with_history().await;
    let report = audit::whole(books.shard()).await.unwrap();
    assert_eq!(report.faults, []);
    let examined = Examined {
        accounts: 1,
        postings: 3,
        open_holds: 3,
        outcomes: 4,
    };
    assert_eq!(report.examined, examined);
    assert_eq!(books.found().await, (String::new(), String::new()));
}

/// What is found after each of these, on books that were honest before.
async fn assert_found(spoiled: &[(&str, &str, &str)]) {
    for (statements, whole, recent) in spoiled {
        let (books, cargo) = Books::with_history().await;
        let named = |text: &str, index: usize, cargo: CargoId| {
            text.replace(&format!("C{index}"), &format!("'{}'", cargo.uuid()))
        };
        let statements = cargo
            .iter()
            .enumerate()
            .fold((*statements).to_owned(), |text, (index, cargo)| {
                named(&text, index, *cargo)
            });
        books.spoil(&statements).await;
        let expected = ((*whole).to_owned(), (*recent).to_owned());
        assert_eq!(books.found().await, expected, "{statements}");
    }
}

#[tokio::test]
async fn a_posting_that_does_not_balance_is_found() {
    let allow = "alter table shard.posting drop constraint posting_balanced;";
    assert_found(&[
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
    assert_found(&[
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
    assert_found(&[
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
    assert_found(&[
        // Finished without an outcome: charged, failed, free.
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
        // An outcome of cargo under way, and of none at all.
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
    assert_found(&[
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
    assert_found(&[
        // Charged, and in no posting.
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
        // Another organization's.
        (
            "update shard.cargo set organization = C7 where id = C1",
            "charges posted used",
            "posted",
        ),
        // Under way, and never loaded.
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
    let (books, cargo) = Books::with_history().await;
    books
        .spoil(&format!(
            "update shard.outcome set charged = 29999 where cargo = '{}'",
            cargo[0].uuid()
        ))
        .await;
    let report = audit::whole(books.shard()).await.unwrap();
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
                "settlement: {organization} posting 2 expected charged 30000, found charged 30001; a settlement comes to what its cargo were charged and worth"
            ),
            format!(
                "charges: {organization} expected 30000, found 30001; all settlements of an organization come to all its charges"
            ),
        ]
    );
}

#[tokio::test]
async fn old_postings_are_left_to_the_whole_audit() {
    let (books, _) = Books::with_history().await;
    books
        .database
        .clock
        .advance(std::time::Duration::from_mins(2));
    books.pay(Direction::In, 1).await;
    books
        .spoil("update shard.posting set balance = balance + 1 where number = 2")
        .await;
    assert_eq!(books.found().await, ("chain".to_owned(), String::new()));
}
