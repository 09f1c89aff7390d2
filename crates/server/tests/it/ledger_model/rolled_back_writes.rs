//! What the model does with writes that PostgreSQL rolls back although no connection is cut.

use domain::money::Money;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use store::shard::account;
use store::shard::credit::{Payment, PaymentDirection};

use super::fixture::LedgerModelFixture;
use super::history::{ClientFault, RoundFault};
use super::operation::{
    LedgerLoadResult, LedgerOperation, LoadOperation, OperationResult, TestModel,
};

const MODEL: &str = "gratis";

fn load_without_key() -> LedgerOperation {
    let body = format!(
        r#"{{"params":{{"model":"{MODEL}","max_tokens":8,"messages":[{{"role":"user","content":"x"}}]}}}}"#
    );
    LedgerOperation::Load(vec![LoadOperation {
        organization: 0,
        model: TestModel::number(MODEL),
        body,
        key: None,
        process: 0,
        hold: None,
    }])
}

fn payment() -> LedgerOperation {
    LedgerOperation::Pay {
        organization: 0,
        payment: Payment {
            amount: Money(5),
            direction: PaymentDirection::In,
            reference: None,
            note: Some("payment 1".to_owned()),
        },
    }
}

/// Cancels the statements that wait for a lock, as their timeouts do. It never ends.
async fn cancel_waiting_statements(fixture: &LedgerModelFixture) {
    let cancel = "select count(pg_cancel_backend(pid)) from pg_stat_activity
         where datname = current_database() and application_name = 'longshored'
             and wait_event_type = 'Lock'";
    loop {
        sqlx::query_scalar::<_, i64>(cancel)
            .fetch_one(&fixture.stable_shard.pool)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn writes_that_postgresql_cancels_are_not_committed_in_a_round_without_a_fault() {
    let mut fixture = LedgerModelFixture::new().await;
    let customer = fixture.service.create_customer().await;
    let mut locking = fixture.stable_shard.begin().await.unwrap();
    let locked = account::lock_all(&mut locking, &[customer.organization]).await;
    assert_eq!(locked.unwrap().accounts.len(), 1);
    let keep = "select set_config('idle_in_transaction_session_timeout', '0', true)";
    let kept = sqlx::query_scalar::<_, String>(keep);
    kept.fetch_one(&mut *locking).await.unwrap();
    fixture.customers.push(customer);

    let round = vec![payment(), load_without_key()];
    let faults = [ClientFault::None; 2];
    let observed = tokio::select! {
        observed = fixture.run_operations(&round, &faults, RoundFault::None) => observed,
        () = cancel_waiting_statements(&fixture) => Err("the cancelling ended".to_owned()),
    };
    locking.rollback().await.unwrap();

    let mut random = StdRng::seed_from_u64(1);
    let results = fixture.reconcile(round, observed.unwrap(), &mut random);
    let results = results.await.unwrap();
    assert!(
        matches!(results[0].1, OperationResult::NotPaid),
        "{results:?}"
    );
    let OperationResult::Loaded(loaded) = &results[1].1 else {
        panic!("{results:?}");
    };
    assert!(
        matches!(loaded[..], [LedgerLoadResult::New(_)]),
        "{loaded:?}"
    );
    let stored = fixture.service.count_stored_cargo(&fixture.customers[0]);
    assert_eq!(stored.await, 1);
}

#[tokio::test]
async fn a_process_that_answers_503_to_every_load_is_found() {
    let mut fixture = LedgerModelFixture::new().await;
    let customer = fixture.service.create_customer().await;
    fixture.customers.push(customer);
    // Its writers end.
    fixture.service.app.flush().await;

    let round = vec![load_without_key()];
    let observed = fixture
        .run_operations(&round, &[ClientFault::None], RoundFault::None)
        .await
        .unwrap();
    let mut random = StdRng::seed_from_u64(1);
    let failure = fixture.reconcile(round, observed, &mut random).await;
    let failure = failure.unwrap_err();
    assert!(failure.contains("was never answered"), "{failure}");
}
