//! What the incremental audit finds at once, what it finds when it reads all rows again, and what
//! it must not report.

use std::time::Duration;

use domain::time::Clock as _;
use sqlx::{AssertSqlSafe, Executor as _};
use store::shard::ledger_audit::{self, LedgerInvariant, PASS_INTERVAL, PassStep, ProofStep};
use store::shard::partition;
use test_support::ledger_proof;

use crate::ledger_audit::ledger_fixture::{HoldKind, LedgerFixture, invariant_names};

const MINUTE: Duration = Duration::from_mins(1);

async fn count(books: &LedgerFixture, rows: &str) -> i64 {
    let count = format!("select count(*) from {rows}");
    let count = sqlx::query_scalar(AssertSqlSafe(count)).fetch_one(&books.shard().pool);
    count.await.unwrap()
}

/// A ledger whose rows the audit has all read.
async fn proven_history() -> (LedgerFixture, Vec<domain::id::CargoId>) {
    let (books, cargo) = LedgerFixture::with_history().await;
    books.database.clock.advance(MINUTE);
    assert_eq!(books.audit().await, []);
    (books, cargo)
}

#[tokio::test]
async fn rows_that_did_not_change_are_left_to_the_pass() {
    for (statement, found) in [
        (
            "update shard.cargo set held = held + 1 where id = C6",
            "held",
        ),
        (
            "update shard.outcome set charged = 29999 where cargo = C0",
            "charge charges settlement",
        ),
        (
            "update shard.posting set balance = balance + 1 where number = 2",
            "chain",
        ),
    ] {
        let (books, cargo) = proven_history().await;
        super::spoil(&books, statement, &cargo).await;
        books.database.clock.advance(MINUTE);
        assert_eq!(books.audit().await, [], "{statement}");
        let faults = books.audit_everything().await;
        assert_eq!(invariant_names(&faults), found, "{statement}");
    }
}

#[tokio::test]
async fn a_missing_account_without_open_cargo_is_found() {
    let mut books = LedgerFixture::open().await;
    let cargo = books.load(HoldKind::Enough).await;
    books.finish(&[cargo], true).await;
    books.database.clock.advance(MINUTE);
    assert_eq!(books.audit().await, []);
    books.corrupt("delete from shard.account").await;
    assert_eq!(invariant_names(&books.audit().await), "account");
    assert_eq!(invariant_names(&books.audit_everything().await), "account");
}

#[tokio::test]
async fn a_fault_of_a_row_stays_until_the_row_is_right() {
    let (books, cargo) = proven_history().await;
    let spoil = |change: &'static str| super::spoil(&books, change, &cargo);
    spoil("update shard.outcome set charged = charged - 1 where cargo = C0").await;
    assert_eq!(
        invariant_names(&books.audit_everything().await),
        "charge charges settlement"
    );
    for _ in 0..2 {
        books.database.clock.advance(MINUTE);
        let faults = books.audit().await;
        assert_eq!(invariant_names(&faults), "charge charges settlement");
        // One charge, one settlement and one sum, however often they were read.
        assert_eq!(faults.len(), 3, "{faults:?}");
    }
    spoil("update shard.outcome set charged = charged + 1 where cargo = C0").await;
    assert_eq!(invariant_names(&books.audit().await), "charges");
    assert_eq!(books.audit_everything().await, []);
}

#[tokio::test]
async fn all_known_faults_stay_although_a_check_returns_a_hundred() {
    let mut books = LedgerFixture::open().await;
    for known in [0, 70] {
        let mut cargo = Vec::new();
        for _ in 0..70 {
            cargo.push(books.load(HoldKind::Enough).await);
        }
        books.finish(&cargo, true).await;
        books
            .corrupt("update shard.outcome set charged = 29999 where charged = 30000")
            .await;
        for _ in 0..2 {
            let faults = books.audit().await;
            let charges = faults
                .iter()
                .filter(|it| it.invariant == LedgerInvariant::Charge);
            assert_eq!(charges.count(), known + 70);
        }
    }
}

/// A process of the version before stores outcomes, and leaves no row for the audit.
async fn finish_unseen(books: &LedgerFixture, cargo: &[domain::id::CargoId]) {
    books.finish(cargo, true).await;
    books.corrupt("delete from shard.unaudited").await;
}

#[tokio::test]
async fn outcomes_of_the_version_before_are_no_fault() {
    let (mut books, cargo) = proven_history().await;
    finish_unseen(&books, &cargo[6..7]).await;
    assert_eq!(books.find_faults().await, no_faults());
    // What remains is compared as before.
    let next = books.load(HoldKind::Enough).await;
    books.finish(&[next], true).await;
    assert_eq!(books.find_faults().await, no_faults());
    books
        .corrupt("update shard.account set held = held + 1")
        .await;
    assert_eq!(invariant_names(&books.audit().await), "held");
    books
        .corrupt("update shard.account set held = held - 1, tokens_used = tokens_used + 1")
        .await;
    // Used tokens are proven again by the pass that begins after the last such outcome.
    assert_eq!(books.audit().await, []);
    assert_eq!(invariant_names(&books.audit_everything().await), "used");
}

#[tokio::test]
async fn outcomes_of_the_version_before_during_a_pass_are_no_fault() {
    let (books, cargo) = proven_history().await;
    books
        .database
        .clock
        .advance(PASS_INTERVAL.to_std().unwrap());
    let now = books.database.clock.now();
    // The postings first: the cargo is read in a later transaction.
    let step = ledger_audit::continue_pass(books.shard(), None, now).await;
    assert_eq!(step.unwrap(), Some(PassStep::Read));
    finish_unseen(&books, &cargo[6..7]).await;
    assert_eq!(books.find_faults().await, no_faults());
    assert!(ledger_proof::finish_pass(books.shard(), now).await.unwrap());
    assert_eq!(books.find_faults().await, no_faults());
    assert_eq!(books.audit_everything().await, []);
}

#[tokio::test]
async fn the_first_proofs_of_a_shard_with_rows_compare_no_sums() {
    let (books, _) = LedgerFixture::with_history().await;
    books
        .corrupt("delete from shard.ledger_pass; delete from shard.unaudited")
        .await;
    books
        .corrupt("update shard.account set held = held + 1")
        .await;
    let now = books.database.clock.now();
    let step = ledger_audit::prove_changes(books.shard(), None, now).await;
    let Some(ProofStep::Done(proof)) = step.unwrap() else {
        unreachable!("nothing has changed")
    };
    assert_eq!((proof.faults, proof.read_since), (Vec::new(), None));
    assert_eq!(invariant_names(&books.audit().await), "held");
}

#[tokio::test]
async fn a_pass_is_exact_while_cargo_is_loaded_and_ends() {
    let (mut books, cargo) = proven_history().await;
    books
        .database
        .clock
        .advance(PASS_INTERVAL.to_std().unwrap());
    let mut open = vec![cargo[6]];
    for round in 0..20 {
        let now = books.database.clock.now();
        let step = ledger_audit::continue_pass(books.shard(), None, now).await;
        let step = step.unwrap().unwrap();
        open.push(books.load(HoldKind::Enough).await);
        let ended = open.remove(0);
        books.finish(&[ended], round % 3 > 0).await;
        if round % 2 == 0 {
            assert_eq!(books.audit().await, [], "{round}: {step:?}");
        }
        books.database.clock.advance(Duration::from_secs(20));
        if step == PassStep::Finished {
            books
                .database
                .clock
                .advance(PASS_INTERVAL.to_std().unwrap());
        }
    }
    assert_eq!(books.find_faults().await, no_faults());
    assert_eq!(count(&books, "shard.unaudited").await, 0);
    assert!(count(&books, "shard.ledger_pass").await <= 2);
}

#[tokio::test]
async fn a_pass_whose_days_were_dropped_starts_again() {
    let mut books = LedgerFixture::open().await;
    let day = books.database.clock.now().date_naive();
    let cargo = books.load(HoldKind::Enough).await;
    books.finish(&[cargo], true).await;
    assert_eq!(books.audit().await, []);
    books
        .database
        .clock
        .advance(PASS_INTERVAL.to_std().unwrap());
    let now = books.database.clock.now();
    let step = ledger_audit::continue_pass(books.shard(), None, now).await;
    assert_eq!(step.unwrap(), Some(PassStep::Read));
    // The day of the cargo is dropped before the pass has read it.
    books.database.clock.advance(Duration::from_hours(48));
    let now = books.database.clock.now();
    let dropped = partition::drop_days(books.shard(), now).await.unwrap();
    assert!(dropped.contains(&day), "{dropped:?}");
    assert_eq!(books.find_faults().await, no_faults());
    assert_eq!(books.audit_everything().await, []);
    // The third began after the drop, the fourth an hour later.
    assert_eq!(count(&books, "shard.ledger_pass where number = 4").await, 1);
}

#[tokio::test]
async fn two_audits_never_run_at_once() {
    let (books, _) = proven_history().await;
    let mut other = books.shard().begin().await.unwrap();
    let lock = "select pg_advisory_xact_lock(hashtext('longshore.audit'))";
    other.execute(lock).await.unwrap();
    let now = books.database.clock.now();
    let proof = ledger_audit::prove_changes(books.shard(), None, now).await;
    assert_eq!(proof.unwrap(), None);
    let pass = ledger_audit::continue_pass(books.shard(), None, now).await;
    assert_eq!(pass.unwrap(), None);
    other.rollback().await.unwrap();
    assert_eq!(books.audit().await, []);
}

#[tokio::test]
async fn the_age_of_the_proofs_is_known() {
    let (books, cargo) = LedgerFixture::with_history().await;
    books.database.clock.advance(MINUTE);
    let opened = books.database.clock.now() - MINUTE;
    assert_eq!(books.audit().await, []);
    let state = ledger_audit::read_proof_state(books.shard()).await.unwrap();
    let now = books.database.clock.now();
    assert_eq!(
        (state.proven_at, state.read_since),
        (Some(now), Some(opened))
    );
    assert_eq!(state.faults, []);
    super::spoil(&books, "delete from shard.outcome where cargo = C0", &cargo).await;
    books.audit_everything().await;
    let state = ledger_audit::read_proof_state(books.shard()).await.unwrap();
    assert_eq!(state.read_since, Some(books.database.clock.now()));
    assert_eq!(
        invariant_names(&state.faults),
        "charges outcome settlement used"
    );
}

fn no_faults() -> (String, String) {
    (String::new(), String::new())
}
