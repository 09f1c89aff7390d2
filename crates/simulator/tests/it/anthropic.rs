//! Anthropic's batches without faults.

use serde_json::{Value, json};
use simulator::{SimulatedPace, SimulatedProvider, rule};

use crate::support::{TestSimulator, form};

pub fn request(id: &str, text: &str) -> Value {
    json!({"custom_id": id, "params": {
        "model": "claude-sim",
        "max_tokens": 50,
        "messages": [{"role": "user", "content": [{"type": "text", "text": text}]}],
    }})
}

impl TestSimulator {
    pub async fn create_message_batch(&self, texts: &[&str]) -> String {
        let requests = texts.iter().enumerate();
        let requests: Vec<Value> = requests
            .map(|(index, text)| request(&format!("a{index}"), text))
            .collect();
        let body = json!({"requests": requests});
        let created = self.post("/v1/messages/batches", &body).await.expect_ok();
        created["id"].as_str().unwrap().to_owned()
    }

    pub async fn get_results(&self, id: &str) -> Vec<Value> {
        let seen = self
            .get(&format!("/v1/messages/batches/{id}/results"))
            .await;
        assert_eq!(seen.status, 200, "{}", seen.text());
        seen.lines()
    }
}

#[tokio::test]
async fn counts_are_told_only_when_a_batch_has_ended() {
    let stage = TestSimulator::start(SimulatedProvider::Anthropic).await;
    let id = stage.create_message_batch(&["hello", "[[fail 529]]"]).await;
    let path = format!("/v1/messages/batches/{id}");
    stage.advance_ms(350);
    let running = stage.get(&path).await;
    assert!(running.header("request-id").unwrap().starts_with("req_"));
    let running = running.expect_ok();
    assert_eq!(running["processing_status"], "in_progress");
    let zero = json!({"processing": 2, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0});
    assert_eq!(running["request_counts"], zero);
    assert_eq!(
        (&running["ended_at"], &running["results_url"]),
        (&Value::Null, &Value::Null)
    );
    assert!(running["created_at"].as_str().unwrap().ends_with("+00:00"));
    assert_eq!(stage.get(&format!("{path}/results")).await.status, 404);
    stage.finish_jobs();
    let ended = stage.get(&path).await.expect_ok();
    assert_eq!(ended["processing_status"], "ended");
    let counts =
        json!({"processing": 0, "succeeded": 1, "errored": 1, "canceled": 0, "expired": 0});
    assert_eq!(ended["request_counts"], counts);

    let results = stage.get(ended["results_url"].as_str().unwrap()).await;
    let disposition = results.header("content-disposition").unwrap();
    assert!(disposition.contains(&format!("{id}_results.jsonl")));
    let lines = results.lines();
    assert_eq!(lines[0]["result"]["type"], "succeeded");
    let message = &lines[0]["result"]["message"];
    assert_eq!(
        message["content"],
        json!([{"type": "text", "text": rule::chat_text("hello")}])
    );
    assert_eq!(message["stop_reason"], "end_turn");
    assert_eq!(message["usage"]["input_tokens"], 2);
    assert_eq!(message["usage"]["service_tier"], "batch");
    let errored = &lines[1]["result"];
    assert_eq!(errored["type"], "errored");
    assert_eq!(errored["error"]["error"]["type"], "overloaded_error");
}

#[tokio::test]
async fn faults_inside_params_show_only_in_the_results() {
    let stage = TestSimulator::start(SimulatedProvider::Anthropic).await;
    let mut bad = request("bad", "x");
    bad["params"]["max_tokens"] = json!(0);
    let body = json!({"requests": [bad, request("good", "x")]});
    let id = stage.post("/v1/messages/batches", &body).await.expect_ok()["id"].clone();
    stage.finish_jobs();
    let lines = stage.get_results(id.as_str().unwrap()).await;
    assert_eq!(
        lines[0]["result"]["error"]["error"]["type"],
        "invalid_request_error"
    );
    assert_eq!(lines[1]["result"]["type"], "succeeded");
}

#[tokio::test]
async fn stops_and_refusals_have_their_own_reasons() {
    let stage = TestSimulator::start(SimulatedProvider::Anthropic).await;
    let mut cut = request("cut", "one two three");
    cut["params"]["max_tokens"] = json!(2);
    let mut stopped = request("stopped", "one two three");
    stopped["params"]["stop_sequences"] = json!(["two"]);
    let requests = [
        cut,
        stopped,
        request("refused", "[[refuse]]"),
        request("blocked", "[[blocked]]"),
    ];
    let body = json!({"requests": requests});
    let id = stage.post("/v1/messages/batches", &body).await.expect_ok()["id"].clone();
    stage.finish_jobs();
    let lines = stage.get_results(id.as_str().unwrap()).await;
    let reasons: Vec<&Value> = lines
        .iter()
        .map(|it| &it["result"]["message"]["stop_reason"])
        .collect();
    assert_eq!(
        reasons,
        ["max_tokens", "stop_sequence", "refusal", "refusal"]
    );
    assert_eq!(lines[1]["result"]["message"]["stop_sequence"], "two");
    assert_eq!(lines[3]["result"]["message"]["content"], json!([]));
}

#[tokio::test]
async fn a_canceled_batch_ends_with_both_sorts() {
    let stage = TestSimulator::start(SimulatedProvider::Anthropic).await;
    stage.set_pace(SimulatedPace {
        running_ms: 1000,
        ..SimulatedPace::default()
    });
    let id = stage.create_message_batch(&["a", "b", "c", "d"]).await;
    let path = format!("/v1/messages/batches/{id}");
    assert_eq!(stage.delete(&path).await.status, 400);
    stage.advance_ms(600);
    let canceling = stage
        .post(&format!("{path}/cancel"), &json!({}))
        .await
        .expect_ok();
    assert_eq!(canceling["processing_status"], "canceling");
    assert!(canceling["cancel_initiated_at"].is_string());
    stage.finish_jobs();
    let counts = stage.get(&path).await.expect_ok()["request_counts"].clone();
    assert_eq!(
        (&counts["succeeded"], &counts["canceled"]),
        (&json!(2), &json!(2))
    );
    let types: Vec<Value> = stage
        .get_results(&id)
        .await
        .iter()
        .map(|it| it["result"]["type"].clone())
        .collect();
    assert_eq!(types, ["succeeded", "succeeded", "canceled", "canceled"]);
    let deleted = stage.delete(&path).await.expect_ok();
    assert_eq!(deleted, json!({"id": id, "type": "message_batch_deleted"}));
    assert_eq!(stage.get(&path).await.status, 404);
}

#[tokio::test]
async fn batches_are_listed_from_both_sides() {
    let stage = TestSimulator::start(SimulatedProvider::Anthropic).await;
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(stage.create_message_batch(&["x"]).await);
    }
    let page = stage.get("/v1/messages/batches?limit=2").await.expect_ok();
    assert_eq!(
        (&page["first_id"], &page["last_id"]),
        (&json!(ids[3]), &json!(ids[2]))
    );
    assert_eq!(page["has_more"], true);
    let after = stage
        .get(&format!("/v1/messages/batches?after_id={}", ids[2]))
        .await
        .expect_ok();
    assert_eq!(
        (&after["first_id"], &after["has_more"]),
        (&json!(ids[1]), &json!(false))
    );
    let before = stage
        .get(&format!(
            "/v1/messages/batches?limit=1&before_id={}",
            ids[1]
        ))
        .await
        .expect_ok();
    assert_eq!(
        (&before["first_id"], &before["has_more"]),
        (&json!(ids[2]), &json!(true))
    );
}

#[tokio::test]
async fn files_are_taken_and_messages_answered_at_once() {
    let stage = TestSimulator::start(SimulatedProvider::Anthropic).await;
    let (kind, body) = form("", b"%PDF");
    let headers = [
        ("content-type", kind.as_str()),
        ("anthropic-beta", "files-api-2025-04-14"),
    ];
    let file = stage
        .send("POST", "/v1/files", &headers, body)
        .await
        .unwrap()
        .expect_ok();
    assert_eq!(
        (&file["type"], &file["size_bytes"]),
        (&json!("file"), &json!(4))
    );
    let params = request("a", "hello")["params"].clone();
    let message = stage.post("/v1/messages", &params).await.expect_ok();
    assert_eq!(message["content"][0]["text"], rule::chat_text("hello"));
    assert_eq!(message["usage"]["service_tier"], "standard");
}
