//! A realtime server, well and unwell.

use std::future::Future;
use std::pin::pin;

use futures::FutureExt as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use simulator::{Fault, FaultName, Pace, Provider, rule};

use crate::support::{KEY, Stage};

const CHAT: &str = "/v1/chat/completions";

fn ask(text: &str) -> Value {
    json!({"model": "llama", "messages": [{"role": "user", "content": text}]})
}

async fn stage() -> Stage {
    Stage::of(Provider::Server).await
}

/// Runs everything until this many calls are on record, with `waiting` among them unanswered.
async fn until_seen<T>(
    stage: &Stage,
    count: usize,
    waiting: &mut (impl Future<Output = T> + Unpin),
) {
    loop {
        if stage.simulator.calls(Provider::Server, KEY).len() >= count {
            return;
        }
        assert!((&mut *waiting).now_or_never().is_none(), "too early");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_chat_is_answered_and_on_record() {
    let stage = stage().await;
    let body = ask("hello").to_string();
    let headers = [("x-request-id", "crg_1-a1")];
    let said = stage
        .send("POST", CHAT, &headers, body.clone())
        .await
        .unwrap()
        .ok();
    assert_eq!(said["id"], "chatcmpl-crg_1-a1");
    assert_eq!(
        said["choices"][0]["message"]["content"],
        rule::chat_text("hello")
    );
    assert_eq!(said["choices"][0]["stop_reason"], Value::Null);
    let calls = stage.simulator.calls(Provider::Server, KEY);
    assert_eq!(calls[0].request_id.as_deref(), Some("crg_1-a1"));
    assert_eq!(calls[0].body_sha256, hex::encode(Sha256::digest(body)));
    assert_eq!(calls[0].status, Some(200));
    let mut stopping = ask("one two three");
    stopping["stop"] = json!("two");
    let said = stage.post(CHAT, &stopping).await.ok();
    assert_eq!(said["choices"][0]["stop_reason"], "two");
    assert_eq!(
        stage.get("/v1/models").await.ok()["data"][0]["object"],
        "model"
    );
}

#[tokio::test]
async fn calls_wait_for_one_of_a_few_slots() {
    let stage = stage().await;
    stage.pace(Pace {
        slots: 1,
        ..Pace::default()
    });
    let slow_body = ask("[[slow 500]]");
    let mut slow = pin!(stage.post(CHAT, &slow_body));
    until_seen(&stage, 1, &mut slow).await;
    let quick_body = ask("quick");
    let mut quick = pin!(stage.post(CHAT, &quick_body));
    until_seen(&stage, 2, &mut quick).await;
    assert!(
        stage
            .simulator
            .calls(Provider::Server, KEY)
            .iter()
            .all(|it| it.status.is_none())
    );
    stage.advance_ms(500);
    assert_eq!(slow.await.status, 200);
    assert_eq!(quick.await.status, 200);
}

#[tokio::test]
async fn a_call_can_hang_without_an_answer() {
    let stage = stage().await;
    stage.fault(Fault::once(FaultName::Hang));
    let body = ask("x");
    let mut hanging = pin!(stage.post(CHAT, &body));
    until_seen(&stage, 1, &mut hanging).await;
    assert_eq!(stage.post(CHAT, &ask("y")).await.status, 200);
    stage.advance_ms(3_600_000);
    assert!((&mut hanging).now_or_never().is_none());
}

#[tokio::test]
async fn a_slow_server_answers_when_the_time_has_come() {
    let stage = stage().await;
    let mut fault = Fault::once(FaultName::Slow);
    fault.ms = Some(2000);
    stage.fault(fault);
    let body = ask("x");
    let mut slow = pin!(stage.post(CHAT, &body));
    until_seen(&stage, 1, &mut slow).await;
    stage.advance_ms(2000);
    assert_eq!(slow.await.status, 200);
}

#[tokio::test]
async fn an_answer_can_break_off() {
    let stage = stage().await;
    stage.fault(Fault::once(FaultName::Drop));
    let cut = stage
        .try_post(CHAT, &ask("x"))
        .await
        .err()
        .expect("a cut answer");
    assert!(cut.starts_with("cut"), "{cut}");
    assert_eq!(stage.post(CHAT, &ask("x")).await.status, 200);
}

#[tokio::test]
async fn refusals_have_numbers_for_codes() {
    let stage = stage().await;
    stage.fault(Fault::once(FaultName::Busy503));
    let busy = stage.post(CHAT, &ask("x")).await;
    assert_eq!(
        (busy.status, &busy.json()["error"]["code"]),
        (503, &json!(503))
    );
    stage.fault(Fault::once(FaultName::Context400));
    let long = stage.post(CHAT, &ask("x")).await;
    assert_eq!(
        (long.status, &long.json()["error"]["type"]),
        (400, &json!("BadRequestError"))
    );
    let failed = stage.post(CHAT, &ask("[[fail 500]]")).await;
    assert_eq!(failed.status, 500);
    let unread = stage.send("POST", CHAT, &[], "{oops").await.unwrap();
    assert_eq!(unread.status, 400);
}

#[tokio::test]
async fn a_dead_engine_is_seen_in_its_health() {
    let stage = stage().await;
    let well = stage.get("/health").await;
    assert_eq!((well.status, well.body.len()), (200, 0));
    stage.fault(Fault::of(FaultName::Dead));
    assert_eq!(stage.get("/health").await.status, 503);
    assert_eq!(stage.post(CHAT, &ask("x")).await.status, 500);
    stage.simulator.clear_faults(Provider::Server, KEY);
    assert_eq!(stage.get("/health").await.status, 200);
}

#[tokio::test]
async fn answers_at_once_can_hide_or_inflate_what_they_cost() {
    let stage = stage().await;
    stage.fault(Fault::once(FaultName::UsageMissing));
    assert_eq!(stage.post(CHAT, &ask("x")).await.ok().get("usage"), None);
    stage.fault(Fault::once(FaultName::UsageAbsurd));
    let absurd = stage.post(CHAT, &ask("x")).await.ok();
    assert!(absurd["usage"]["prompt_tokens"].as_u64().unwrap() > 1_000_000_000);
    stage.fault(Fault::once(FaultName::OutOfFunds));
    assert_eq!(stage.post(CHAT, &ask("x")).await.status, 429);
}

#[tokio::test]
async fn embeddings_are_answered_here_too() {
    let stage = stage().await;
    let body = json!({"model": "embed", "input": "one", "dimensions": 4});
    let said = stage.post("/v1/embeddings", &body).await.ok();
    assert_eq!(
        said["data"][0]["embedding"],
        json!(rule::embedding("one", 4))
    );
}
