//! A realtime server, with and without faults.

use std::future::Future;
use std::pin::pin;

use futures::FutureExt as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use simulator::{FaultName, SimulatedFault, SimulatedPace, SimulatedProvider, rule};

use crate::support::{TEST_KEY, TestSimulator};

const CHAT_PATH: &str = "/v1/chat/completions";

fn chat_request(text: &str) -> Value {
    json!({"model": "llama", "messages": [{"role": "user", "content": text}]})
}

async fn start() -> TestSimulator {
    TestSimulator::start(SimulatedProvider::Server).await
}

/// Waits until this many calls are recorded. `waiting` must stay unanswered.
async fn wait_for_calls<T>(
    stage: &TestSimulator,
    count: usize,
    waiting: &mut (impl Future<Output = T> + Unpin),
) {
    loop {
        if stage
            .simulator
            .calls(SimulatedProvider::Server, TEST_KEY)
            .len()
            >= count
        {
            return;
        }
        assert!((&mut *waiting).now_or_never().is_none(), "too early");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_chat_is_answered_and_on_record() {
    let stage = start().await;
    let body = chat_request("hello").to_string();
    let headers = [("x-request-id", "crg_1-a1")];
    let response = stage
        .send("POST", CHAT_PATH, &headers, body.clone())
        .await
        .unwrap()
        .expect_ok();
    assert_eq!(response["id"], "chatcmpl-crg_1-a1");
    assert_eq!(
        response["choices"][0]["message"]["content"],
        rule::chat_text("hello")
    );
    assert_eq!(response["choices"][0]["stop_reason"], Value::Null);
    let calls = stage.simulator.calls(SimulatedProvider::Server, TEST_KEY);
    assert_eq!(calls[0].request_id.as_deref(), Some("crg_1-a1"));
    assert_eq!(calls[0].body_sha256, hex::encode(Sha256::digest(body)));
    assert_eq!(calls[0].status, Some(200));
    let mut stopping = chat_request("one two three");
    stopping["stop"] = json!("two");
    let response = stage.post(CHAT_PATH, &stopping).await.expect_ok();
    assert_eq!(response["choices"][0]["stop_reason"], "two");
    assert_eq!(
        stage.get("/v1/models").await.expect_ok()["data"][0]["object"],
        "model"
    );
}

#[tokio::test]
async fn calls_wait_for_one_of_a_few_slots() {
    let stage = start().await;
    stage.set_pace(SimulatedPace {
        slots: 1,
        ..SimulatedPace::default()
    });
    let slow_body = chat_request("[[slow 500]]");
    let mut slow = pin!(stage.post(CHAT_PATH, &slow_body));
    wait_for_calls(&stage, 1, &mut slow).await;
    let quick_body = chat_request("quick");
    let mut quick = pin!(stage.post(CHAT_PATH, &quick_body));
    wait_for_calls(&stage, 2, &mut quick).await;
    assert!(
        stage
            .simulator
            .calls(SimulatedProvider::Server, TEST_KEY)
            .iter()
            .all(|it| it.status.is_none())
    );
    stage.advance_ms(500);
    assert_eq!(slow.await.status, 200);
    assert_eq!(quick.await.status, 200);
}

#[tokio::test]
async fn a_call_can_hang_without_an_answer() {
    let stage = start().await;
    stage.set_fault(SimulatedFault::once(FaultName::Hang));
    let body = chat_request("x");
    let mut hanging = pin!(stage.post(CHAT_PATH, &body));
    wait_for_calls(&stage, 1, &mut hanging).await;
    assert_eq!(stage.post(CHAT_PATH, &chat_request("y")).await.status, 200);
    stage.advance_ms(3_600_000);
    assert!((&mut hanging).now_or_never().is_none());
}

#[tokio::test]
async fn a_slow_server_answers_when_the_time_has_come() {
    let stage = start().await;
    let mut fault = SimulatedFault::once(FaultName::Slow);
    fault.ms = Some(2000);
    stage.set_fault(fault);
    let body = chat_request("x");
    let mut slow = pin!(stage.post(CHAT_PATH, &body));
    wait_for_calls(&stage, 1, &mut slow).await;
    stage.advance_ms(2000);
    assert_eq!(slow.await.status, 200);
}

#[tokio::test]
async fn an_answer_can_break_off() {
    let stage = start().await;
    stage.set_fault(SimulatedFault::once(FaultName::Drop));
    let cut = stage
        .try_post(CHAT_PATH, &chat_request("x"))
        .await
        .err()
        .expect("a cut answer");
    assert!(cut.starts_with("cut"), "{cut}");
    assert_eq!(stage.post(CHAT_PATH, &chat_request("x")).await.status, 200);
}

#[tokio::test]
async fn refusals_have_numbers_for_codes() {
    let stage = start().await;
    stage.set_fault(SimulatedFault::once(FaultName::Busy503));
    let busy = stage.post(CHAT_PATH, &chat_request("x")).await;
    assert_eq!(
        (busy.status, &busy.json()["error"]["code"]),
        (503, &json!(503))
    );
    stage.set_fault(SimulatedFault::once(FaultName::Context400));
    let long = stage.post(CHAT_PATH, &chat_request("x")).await;
    assert_eq!(
        (long.status, &long.json()["error"]["type"]),
        (400, &json!("BadRequestError"))
    );
    let failed = stage.post(CHAT_PATH, &chat_request("[[fail 500]]")).await;
    assert_eq!(failed.status, 500);
    let unread = stage.send("POST", CHAT_PATH, &[], "{oops").await.unwrap();
    assert_eq!(unread.status, 400);
}

#[tokio::test]
async fn a_dead_engine_is_seen_in_its_health() {
    let stage = start().await;
    let well = stage.get("/health").await;
    assert_eq!((well.status, well.body.len()), (200, 0));
    stage.set_fault(SimulatedFault::new(FaultName::Dead));
    assert_eq!(stage.get("/health").await.status, 503);
    assert_eq!(stage.post(CHAT_PATH, &chat_request("x")).await.status, 500);
    stage
        .simulator
        .clear_faults(SimulatedProvider::Server, TEST_KEY);
    assert_eq!(stage.get("/health").await.status, 200);
}

#[tokio::test]
async fn answers_at_once_can_hide_or_inflate_what_they_cost() {
    let stage = start().await;
    stage.set_fault(SimulatedFault::once(FaultName::UsageMissing));
    assert_eq!(
        stage
            .post(CHAT_PATH, &chat_request("x"))
            .await
            .expect_ok()
            .get("usage"),
        None
    );
    stage.set_fault(SimulatedFault::once(FaultName::UsageAbsurd));
    let absurd = stage.post(CHAT_PATH, &chat_request("x")).await.expect_ok();
    assert!(absurd["usage"]["prompt_tokens"].as_u64().unwrap() > 1_000_000_000);
    stage.set_fault(SimulatedFault::once(FaultName::OutOfFunds));
    assert_eq!(stage.post(CHAT_PATH, &chat_request("x")).await.status, 429);
}

#[tokio::test]
async fn embeddings_are_answered_here_too() {
    let stage = start().await;
    let body = json!({"model": "embed", "input": "one", "dimensions": 4});
    let response = stage.post("/v1/embeddings", &body).await.expect_ok();
    assert_eq!(
        response["data"][0]["embedding"],
        json!(rule::embedding("one", 4))
    );
}
