//! The tier flex, and the dialects of Azure and Groq.

use std::pin::pin;

use bytes::Bytes;
use futures::FutureExt as _;
use serde_json::{Value, json};
use simulator::{FaultName, SimulatedFault, SimulatedProvider, SimulatedTier};

use crate::gemini::content;
use crate::support::{TEST_KEY, TestResponse, TestSimulator, form, openai_line};

const CHAT_PATH: &str = "/v1/chat/completions";

fn flex_chat() -> Value {
    json!({"model": "gpt-sim", "messages": [{"role": "user", "content": "hello"}], "service_tier": "flex"})
}

/// A call below another prefix, with the key as this prefix wants it.
async fn send(
    stage: &TestSimulator,
    method: &str,
    path: &str,
    key_header: (&str, &str),
    body: impl Into<Bytes>,
) -> TestResponse {
    let url = format!("http://{}{path}", stage.simulator.address());
    let headers = [("content-type", "application/json"), key_header];
    stage.send(method, &url, &headers, body).await.unwrap()
}

#[tokio::test]
async fn a_response_says_which_tier_served_it() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let served = stage.post(CHAT_PATH, &flex_chat()).await.expect_ok();
    assert_eq!(served["service_tier"], "flex");
    stage.set_fault(SimulatedFault::once(FaultName::FlexDowngrade));
    let served = stage.post(CHAT_PATH, &flex_chat()).await.expect_ok();
    assert_eq!(served["service_tier"], "default");
    let body = json!({"model": "gpt-sim", "input": "hello", "service_tier": "flex"});
    let served = stage.post("/v1/responses", &body).await.expect_ok();
    assert_eq!(served["service_tier"], "flex");
    let bill = stage.simulator.bill(SimulatedProvider::OpenAi, TEST_KEY);
    let tiers: Vec<(SimulatedTier, u64)> =
        bill.iter().map(|line| (line.tier, line.requests)).collect();
    assert_eq!(
        tiers,
        [(SimulatedTier::Flex, 2), (SimulatedTier::Standard, 1)]
    );
}

#[tokio::test]
async fn only_flex_is_refused_for_lack_of_capacity() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    stage.set_fault(SimulatedFault::new(FaultName::FlexUnavailable).seconds(7));
    let refused = stage.post(CHAT_PATH, &flex_chat()).await;
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (429, Some("7"))
    );
    assert_eq!(refused.json()["error"]["code"], "resource_unavailable");
    let mut plain = flex_chat();
    plain["service_tier"] = json!("default");
    assert_eq!(stage.post(CHAT_PATH, &plain).await.status, 200);
    let bill = stage.simulator.bill(SimulatedProvider::OpenAi, TEST_KEY);
    assert_eq!(bill.len(), 1);
}

#[tokio::test]
async fn a_flex_answer_can_take_long() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    stage.set_fault(SimulatedFault::once(FaultName::FlexSlow));
    let body = flex_chat();
    let mut slow = pin!(stage.post(CHAT_PATH, &body));
    while stage
        .simulator
        .calls(SimulatedProvider::OpenAi, TEST_KEY)
        .is_empty()
    {
        assert!((&mut slow).now_or_never().is_none(), "too early");
        tokio::task::yield_now().await;
    }
    stage.advance_ms(60_000);
    assert_eq!(slow.await.status, 200);
}

#[tokio::test]
async fn gemini_names_its_tier_and_refuses_with_503() {
    let stage = TestSimulator::start(SimulatedProvider::Gemini).await;
    let path = "/v1beta/models/gemini-sim:generateContent";
    let mut body = content("hello");
    body["serviceTier"] = json!("flex");
    let served = stage.post(path, &body).await;
    assert_eq!(served.header("x-gemini-service-tier"), Some("flex"));
    assert_eq!(served.json()["usageMetadata"]["serviceTier"], "flex");
    stage.set_fault(SimulatedFault::once(FaultName::FlexUnavailable));
    let refused = stage.post(path, &body).await;
    assert_eq!(refused.status, 503);
    assert_eq!(refused.json()["error"]["status"], "UNAVAILABLE");
}

#[tokio::test]
async fn groq_refuses_with_498_and_batches_chats_only() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let bearer = format!("Bearer {TEST_KEY}");
    let key = ("x-unused", bearer.as_str());
    stage.set_fault(SimulatedFault::once(FaultName::FlexUnavailable));
    let path = "/groq/openai/v1/chat/completions";
    let refused = send(&stage, "POST", path, key, flex_chat().to_string()).await;
    assert_eq!(refused.status, 498);
    assert_eq!(refused.json()["error"]["code"], "capacity_exceeded");
    let file = stage.upload(openai_line("a", "x")).await.expect_ok();
    let create = |endpoint: &str, window: &str| {
        json!({"input_file_id": file["id"], "endpoint": endpoint, "completion_window": window})
            .to_string()
    };
    let path = "/groq/openai/v1/batches";
    let accepted = send(&stage, "POST", path, key, create(CHAT_PATH, "7d"))
        .await
        .expect_ok();
    let week = accepted["expires_at"].as_i64().unwrap() - accepted["created_at"].as_i64().unwrap();
    assert_eq!(week, 7 * 86_400);
    let refused = send(&stage, "POST", path, key, create("/v1/embeddings", "24h")).await;
    assert_eq!(refused.json()["error"]["param"], "endpoint");
}

#[tokio::test]
async fn azure_takes_its_own_key_header_and_short_urls() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let key = ("api-key", "azure-key");
    let (kind, body) = form(
        "batch",
        openai_line("a", "x")
            .replace("/v1/chat", "/chat")
            .as_bytes(),
    );
    let url = format!("http://{}/azure/openai/v1/files", stage.simulator.address());
    let headers = [("content-type", kind.as_str()), key];
    let file = stage
        .send("POST", &url, &headers, body)
        .await
        .unwrap()
        .expect_ok();
    let create = json!({"input_file_id": file["id"], "endpoint": "/chat/completions", "completion_window": "24h"});
    let path = "/azure/openai/v1/batches";
    let created = send(&stage, "POST", path, key, create.to_string())
        .await
        .expect_ok();
    stage.finish_jobs();
    let path = format!("{path}/{}", created["id"].as_str().unwrap());
    let done = send(&stage, "GET", &path, key, "").await.expect_ok();
    assert_eq!(done["status"], "completed");
    let mut plain = flex_chat();
    plain.as_object_mut().unwrap().remove("service_tier");
    let url = format!(
        "http://{}/azure/openai/v1/chat/completions",
        stage.simulator.address()
    );
    let headers = [key, ("x-ms-service-tier", "flex")];
    let served = stage
        .send("POST", &url, &headers, plain.to_string())
        .await
        .unwrap();
    assert_eq!(served.expect_ok()["service_tier"], "flex");
}

#[tokio::test]
async fn azure_takes_twice_as_many_lines() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let lines = (0..50_001).map(|number| openai_line(&number.to_string(), "x"));
    let lines: Vec<String> = lines.collect();
    let file = stage.upload(lines.join("\n")).await.expect_ok();
    let create = json!({
        "input_file_id": file["id"], "endpoint": CHAT_PATH, "completion_window": "24h",
    });
    let bearer = format!("Bearer {TEST_KEY}");
    for (dialect, key, status) in [
        ("azure", ("api-key", TEST_KEY), "completed"),
        ("groq", ("x-unused", bearer.as_str()), "failed"),
    ] {
        let path = format!("/{dialect}/openai/v1/batches");
        let created = send(&stage, "POST", &path, key, create.to_string())
            .await
            .expect_ok();
        stage.finish_jobs();
        let path = format!("{path}/{}", created["id"].as_str().unwrap());
        let ended = send(&stage, "GET", &path, key, "").await.expect_ok();
        assert_eq!(ended["status"], status, "{dialect}");
    }
}
