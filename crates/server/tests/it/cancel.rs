//! `POST /cargo/{cargo_id}/cancel`: what it does in every state of a cargo.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use domain::money::Money;
use serde_json::{Value, json};
use simulator::{FaultName, SimulatedFault, SimulatedProvider};
use store::shard::ledger_audit;
use test_support::callback_receiver::CallbackReceiver;
use workers::stage::Stage as _;

use crate::support::credit::{ONE_DOLLAR, model_chat_request};
use crate::support::http::AppResponse;
use crate::support::simulated_providers::{PRIMARY_ACCOUNT, ProviderFixture};
use crate::support::{Customer, MOCK_DELAY, TestService};

mod groups;
mod races;
mod returned;

const STEP: Duration = Duration::from_secs(30);
const MAX_STEPS: u32 = 60;
const POLL_INTERVAL: Duration = Duration::from_millis(10);

async fn post_cancel(service: &TestService, customer: &Customer, cargo: &str) -> AppResponse {
    let request = Request::post(format!("/cargo/{cargo}/cancel"));
    let request = request.header("X-API-Key", &customer.key);
    service.send(request.body(Body::from("{}")).unwrap()).await
}

/// Cancels a cargo, and returns the status and the result.
async fn cancel(service: &TestService, customer: &Customer, cargo: &str) -> (String, String) {
    let answer = post_cancel(service, customer, cargo).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.body["cargo_id"], cargo);
    let text = |field: &str| answer.body[field].as_str().unwrap().to_owned();
    (text("status"), text("cancel"))
}

fn answered(status: &str, cancel: &str) -> (String, String) {
    (status.to_owned(), cancel.to_owned())
}

/// A record of cargo that was cancelled and cost nothing.
fn assert_cancelled(record: &Value) {
    assert_eq!(record["success"], false, "{record}");
    assert_eq!(record["error"], "cancelled", "{record}");
    assert_eq!(record["error_code"], "cancelled", "{record}");
    assert_eq!(record["response"], Value::Null, "{record}");
    assert_eq!(record["cost"]["charged"], 0, "{record}");
    assert!(record["cancel_requested_at"].is_string(), "{record}");
}

/// Nothing is held, the ledger has no faults, and each cargo has one outcome at most.
async fn assert_settled(service: &TestService, customer: &Customer) {
    assert_eq!(service.read_account(customer).await.held, Money::ZERO);
    let report = ledger_audit::check_all(&service.north).await.unwrap();
    assert_eq!(report.faults, []);
}

/// The jobs of the simulated `OpenAI`, by their number of requests.
fn job_sizes(fixture: &ProviderFixture) -> Vec<usize> {
    let jobs = fixture
        .simulator
        .jobs(SimulatedProvider::OpenAi, PRIMARY_ACCOUNT);
    jobs.iter().map(|job| job.items).collect()
}

async fn gather(fixture: &mut ProviderFixture) {
    let now = fixture.service.now();
    let workers = &mut fixture.service.worker_sets[0];
    workers.gather.step(now).await.unwrap();
}

async fn dispatch(fixture: &mut ProviderFixture) {
    let now = fixture.service.now();
    let workers = &mut fixture.service.worker_sets[0];
    workers.dispatch.step(now).await.unwrap();
}

#[tokio::test]
async fn waiting_cargo_is_cancelled_costs_nothing_and_is_called_back() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    service.add_credit(&customer, ONE_DOLLAR).await;
    let receiver = CallbackReceiver::new().await;
    let mut body = model_chat_request("priced", "Hello.", 64);
    body["callback_url"] = json!(receiver.url());
    let cargo = service.load(&customer, &body).await;
    assert!(service.read_account(&customer).await.held > Money::ZERO);

    let answer = cancel(&service, &customer, &cargo).await;
    assert_eq!(answer, answered("COMPLETED", "cancelled"));
    assert_settled(&service, &customer).await;
    assert_eq!(service.read_account(&customer).await.posted, ONE_DOLLAR);
    let record = service.track(&customer, &cargo).await;
    assert_eq!(record["status"], "COMPLETED");
    assert_eq!(record["batched_at"], Value::Null);
    assert_cancelled(&record);

    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let callbacks = receiver.callbacks();
    assert_eq!(callbacks.len(), 1);
    assert_eq!(callbacks[0]["cargo_id"], json!(cargo));
    assert_eq!(callbacks[0]["success"], false);
    assert_eq!(callbacks[0]["error"], "cancelled");
    assert_eq!(callbacks[0]["error_code"], "cancelled");
    assert_eq!(
        service.status(&customer, &cargo).await,
        "callback_delivered"
    );
}

#[tokio::test]
async fn a_repeated_request_gets_the_same_answer_and_changes_nothing() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    let receiver = CallbackReceiver::new().await;
    let mut body = model_chat_request("svc-mock", "Hello.", 64);
    body["callback_url"] = json!(receiver.url());
    let cargo = service.load(&customer, &body).await;
    let first = cancel(&service, &customer, &cargo).await;
    let record = service.track(&customer, &cargo).await;
    service.clock.advance(STEP);
    assert_eq!(cancel(&service, &customer, &cargo).await, first);
    assert_eq!(service.track(&customer, &cargo).await, record);
    service.run_until_idle().await;
    assert_eq!(receiver.callbacks().len(), 1);
    let answer = cancel(&service, &customer, &cargo).await;
    assert_eq!(answer, answered("callback_delivered", "cancelled"));
}

#[tokio::test]
async fn completed_cargo_is_done() {
    let mut service = TestService::with_prices().await;
    let customer = service.create_customer().await;
    let body = model_chat_request("svc-mock", "Hello.", 64);
    let cargo = service.load(&customer, &body).await;
    service.clock.advance(MOCK_DELAY);
    service.run_until_idle().await;
    let before = service.track(&customer, &cargo).await;
    let answer = cancel(&service, &customer, &cargo).await;
    assert_eq!(answer, answered("COMPLETED", "done"));
    assert_eq!(service.track(&customer, &cargo).await, before);
    assert_eq!(before["cancel_requested_at"], Value::Null);
}

#[tokio::test]
async fn cargo_of_another_project_is_not_found() {
    let service = TestService::with_second_shard().await;
    let customer = service.create_customer().await;
    let sibling = service.create_sibling_project(&customer).await;
    let outsider = service.create_customer_on("south").await;
    let body = model_chat_request("svc-mock", "Hello.", 64);
    let cargo = service.load(&customer, &body).await;
    for other in [&sibling, &outsider] {
        let answer = post_cancel(&service, other, &cargo).await;
        assert_eq!(answer.status, 404);
        assert_eq!(answer.body, json!({"detail": "Cargo not found"}));
    }
    for unknown in ["crg_0", "crg_019b76da807b774b805000000000002a"] {
        let answer = post_cancel(&service, &customer, unknown).await;
        assert_eq!(answer.status, 404);
    }
    assert_eq!(service.status(&customer, &cargo).await, "PENDING");
}

#[tokio::test]
async fn cargo_of_a_gathered_batch_is_cancelled_and_left_out_of_its_job() {
    let mut fixture = ProviderFixture::start().await;
    let receiver = CallbackReceiver::new().await;
    let mut cargo = Vec::new();
    for text in ["one", "two", "three"] {
        cargo.push(
            fixture
                .load(SimulatedProvider::OpenAi, text, receiver.url())
                .await,
        );
    }
    gather(&mut fixture).await;
    let (service, customer) = (&fixture.service, fixture.customer.clone());
    assert_eq!(service.status(&customer, &cargo[1]).await, "BATCHED");
    let answer = cancel(service, &customer, &cargo[1]).await;
    assert_eq!(answer, answered("COMPLETED", "cancelled"));
    fixture.wait_for_callbacks(&cargo, STEP, MAX_STEPS).await;
    assert_eq!(job_sizes(&fixture), [2]);
    assert_cancelled(&fixture.service.track(&customer, &cargo[1]).await);
    for other in [&cargo[0], &cargo[2]] {
        let record = fixture.service.track(&customer, other).await;
        assert_eq!(record["success"], true, "{record}");
        assert_eq!(record["cancel_requested_at"], Value::Null);
    }
    assert_eq!(receiver.callbacks().len(), 3);
    assert_settled(&fixture.service, &customer).await;
}

#[tokio::test]
async fn a_batch_whose_cargo_is_all_cancelled_becomes_no_job() {
    let mut fixture = ProviderFixture::start().await;
    let receiver = CallbackReceiver::new().await;
    let cargo = fixture
        .load(SimulatedProvider::OpenAi, "one", receiver.url())
        .await;
    gather(&mut fixture).await;
    let customer = fixture.customer.clone();
    let answer = cancel(&fixture.service, &customer, &cargo).await;
    assert_eq!(answer, answered("COMPLETED", "cancelled"));
    for _ in 0..3 {
        fixture.advance(STEP).await;
    }
    assert_eq!(job_sizes(&fixture), [0_usize; 0]);
    let open = "select count(*) from shard.batch where state <> 'ended'";
    let open = sqlx::query_scalar::<_, i64>(open);
    let open = open.fetch_one(&fixture.service.north.pool).await.unwrap();
    assert_eq!(open, 0);
    assert_settled(&fixture.service, &customer).await;
}

#[tokio::test]
async fn a_provider_has_it_so_its_answer_is_stored_and_charged() {
    let mut fixture = ProviderFixture::start().await;
    let receiver = CallbackReceiver::new().await;
    let cargo = fixture
        .load(SimulatedProvider::OpenAi, "one", receiver.url())
        .await;
    gather(&mut fixture).await;
    dispatch(&mut fixture).await;
    let customer = fixture.customer.clone();
    for _ in 0..2 {
        let answer = cancel(&fixture.service, &customer, &cargo).await;
        assert_eq!(answer, answered("PROCESSING", "too_late"));
    }
    let requested = fixture.service.track(&customer, &cargo).await;
    assert!(requested["cancel_requested_at"].is_string(), "{requested}");
    assert_eq!(requested["completed_at"], Value::Null);
    let cargo = [cargo];
    fixture.wait_for_callbacks(&cargo, STEP, MAX_STEPS).await;
    let record = fixture.service.track(&customer, &cargo[0]).await;
    assert_eq!(record["success"], true, "{record}");
    assert!(record["cost"]["charged"].as_u64().unwrap() > 0, "{record}");
    let field = "cancel_requested_at";
    assert_eq!(record[field], requested[field]);
    assert_eq!(receiver.callbacks().len(), 1);
    let answer = cancel(&fixture.service, &customer, &cargo[0]).await;
    assert_eq!(answer, answered("callback_delivered", "done"));
    assert_settled(&fixture.service, &customer).await;
}

#[tokio::test]
async fn a_job_that_was_refused_is_sent_again_without_it() {
    let mut fixture = ProviderFixture::start().await;
    let receiver = CallbackReceiver::new().await;
    let refusing = vec![SimulatedFault::new(FaultName::Create429)];
    let (openai, account) = (SimulatedProvider::OpenAi, PRIMARY_ACCOUNT);
    fixture.simulator.set_faults(openai, account, refusing);
    let mut cargo = Vec::new();
    for text in ["one", "two"] {
        cargo.push(fixture.load(openai, text, receiver.url()).await);
    }
    gather(&mut fixture).await;
    dispatch(&mut fixture).await;
    // The journal has its lines: a worker may be sending them.
    let customer = fixture.customer.clone();
    let answer = cancel(&fixture.service, &customer, &cargo[0]).await;
    assert_eq!(answer, answered("BATCHED", "too_late"));
    fixture.simulator.clear_faults(openai, account);
    fixture.wait_for_callbacks(&cargo, STEP, MAX_STEPS).await;
    assert_eq!(job_sizes(&fixture), [1]);
    assert_cancelled(&fixture.service.track(&customer, &cargo[0]).await);
    let record = fixture.service.track(&customer, &cargo[1]).await;
    assert_eq!(record["success"], true, "{record}");
    assert_settled(&fixture.service, &customer).await;
}

#[tokio::test]
async fn cargo_that_comes_back_unanswered_is_cancelled_and_not_sent_again() {
    let mut fixture = ProviderFixture::start().await;
    let receiver = CallbackReceiver::new().await;
    let (openai, account) = (SimulatedProvider::OpenAi, PRIMARY_ACCOUNT);
    let cargo = fixture.load(openai, "one", receiver.url()).await;
    let stuck = vec![SimulatedFault::new(FaultName::Stuck)];
    fixture.simulator.set_faults(openai, account, stuck);
    gather(&mut fixture).await;
    dispatch(&mut fixture).await;
    let customer = fixture.customer.clone();
    let answer = cancel(&fixture.service, &customer, &cargo).await;
    assert_eq!(answer, answered("PROCESSING", "too_late"));
    fixture.cancel_jobs(openai).await;
    let cargo = [cargo];
    fixture
        .wait_for_callbacks(&cargo, Duration::from_hours(1), 30)
        .await;
    assert_cancelled(&fixture.service.track(&customer, &cargo[0]).await);
    assert_eq!(job_sizes(&fixture), [1]);
    assert_eq!(receiver.callbacks().len(), 1);
    assert_settled(&fixture.service, &customer).await;
}

#[tokio::test]
async fn a_realtime_request_is_cancelled_until_its_batch_has_begun() {
    let mut fixture = ProviderFixture::start().await;
    let receiver = CallbackReceiver::new().await;
    let server = SimulatedProvider::Server;
    let mut cargo = Vec::new();
    for text in ["[[slow 600000]] one", "two"] {
        cargo.push(fixture.load(server, text, receiver.url()).await);
        fixture.service.clock.advance(POLL_INTERVAL);
    }
    gather(&mut fixture).await;
    dispatch(&mut fixture).await;
    let customer = fixture.customer.clone();
    assert_eq!(
        fixture.service.status(&customer, &cargo[1]).await,
        "PROCESSING"
    );
    let answer = cancel(&fixture.service, &customer, &cargo[1]).await;
    assert_eq!(answer, answered("COMPLETED", "cancelled"));
    let now = fixture.service.now();
    let mut workers = fixture.service.worker_sets.remove(0);
    tokio::select! {
        ended = workers.stream.step(now) => panic!("the slow request takes ten minutes: {ended:?}"),
        () = wait_for_call(&fixture) => {}
    }
    let answer = cancel(&fixture.service, &customer, &cargo[0]).await;
    assert_eq!(answer, answered("PROCESSING", "too_late"));
    let calls = fixture.simulator.calls(server, PRIMARY_ACCOUNT);
    assert_eq!(calls.len(), 1);
    workers.leave().await.unwrap();
}

async fn wait_for_call(fixture: &ProviderFixture) {
    let calls = || {
        fixture
            .simulator
            .calls(SimulatedProvider::Server, PRIMARY_ACCOUNT)
    };
    while calls().is_empty() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
