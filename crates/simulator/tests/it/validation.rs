//! Invalid inputs are refused as the providers refuse them.

use serde_json::{Value, json};
use simulator::{FaultName, SimulatedFault, SimulatedProvider};

use crate::support::{TestSimulator, openai_line};

/// The validation errors of a file, as code and line.
async fn validation_errors(content: &str) -> Vec<(String, Value)> {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let file = stage.upload(content).await.expect_ok();
    let body = json!({"input_file_id": file["id"], "endpoint": "/v1/chat/completions", "completion_window": "24h"});
    let id = stage.post("/v1/batches", &body).await.expect_ok()["id"].clone();
    stage.finish_jobs();
    let batch = stage.get_batch(id.as_str().unwrap()).await;
    assert_eq!(batch["status"], "failed", "{batch}");
    assert_eq!(batch["request_counts"]["total"], 0);
    let errors = batch["errors"]["data"].as_array().unwrap().clone();
    let codes = errors
        .iter()
        .map(|it| (it["code"].as_str().unwrap().to_owned(), it["line"].clone()));
    codes.collect()
}

fn one(code: &str, line: u64) -> Vec<(String, Value)> {
    vec![(code.to_owned(), json!(line))]
}

#[tokio::test]
async fn a_line_that_is_no_json_is_named() {
    let content = format!("{}\n{{oops\n", openai_line("a", "x"));
    assert_eq!(
        validation_errors(&content).await,
        one("invalid_json_line", 2)
    );
}

#[tokio::test]
async fn an_id_that_comes_twice_or_is_too_long_is_named() {
    let content = [
        openai_line("a", "x"),
        openai_line("b", "x"),
        openai_line("a", "y"),
    ]
    .join("\n");
    assert_eq!(
        validation_errors(&content).await,
        one("duplicate_custom_id", 3)
    );
    let long = openai_line(&"i".repeat(513), "x");
    assert_eq!(validation_errors(&long).await, one("invalid_custom_id", 1));
}

#[tokio::test]
async fn one_batch_has_one_model_and_one_url() {
    let other = openai_line("b", "x").replace("gpt-sim", "gpt-other");
    let content = format!("{}\n{other}", openai_line("a", "x"));
    assert_eq!(
        validation_errors(&content).await,
        one("mismatched_model", 2)
    );
    let elsewhere = openai_line("b", "x").replace("/v1/chat/completions", "/v1/embeddings");
    assert_eq!(
        validation_errors(&elsewhere).await,
        one("mismatched_url", 1)
    );
}

#[tokio::test]
async fn a_file_without_lines_or_with_too_many_is_refused() {
    assert_eq!(validation_errors("\n\n").await[0].0, "empty_file");
    let lines: Vec<String> = (0..50_001)
        .map(|index| openai_line(&index.to_string(), "x"))
        .collect();
    assert_eq!(
        validation_errors(&lines.join("\n")).await[0].0,
        "too_many_requests"
    );
}

#[tokio::test]
async fn a_create_call_must_name_file_endpoint_and_window() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let file = stage.upload(openai_line("a", "x")).await.expect_ok();
    let good = json!({"input_file_id": file["id"], "endpoint": "/v1/chat/completions", "completion_window": "24h"});
    for name in ["input_file_id", "endpoint", "completion_window"] {
        let mut body = good.clone();
        body.as_object_mut().unwrap().remove(name);
        let refused = stage.post("/v1/batches", &body).await;
        assert_eq!(refused.status, 400, "{name}");
        assert_eq!(refused.json()["error"]["param"], name);
    }
    let mut body = good;
    body["input_file_id"] = json!("file-nowhere");
    assert_eq!(stage.post("/v1/batches", &body).await.status, 404);
}

#[tokio::test]
async fn a_fault_can_object_to_any_line() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let mut fault = SimulatedFault::once(FaultName::ValidationFailed);
    fault.line = Some(17);
    fault.code = Some("model_not_found".to_owned());
    stage.set_fault(fault);
    let id = stage.create_batch(&["x"]).await;
    stage.finish_jobs();
    let error = stage.get_batch(&id).await["errors"]["data"][0].clone();
    assert_eq!(
        (&error["code"], &error["line"]),
        (&json!("model_not_found"), &json!(17))
    );
}

#[tokio::test]
async fn anthropic_judges_the_envelope_at_once() {
    let stage = TestSimulator::start(SimulatedProvider::Anthropic).await;
    let item = |id: &str| json!({"custom_id": id, "params": {}});
    let long = "i".repeat(65);
    let cases = [
        (json!({"requests": []}), "at least 1 item"),
        (
            json!({"requests": [item("a"), item("a")]}),
            "requests.1.custom_id",
        ),
        (
            json!({"requests": [item(&long)]}),
            "requests.0.custom_id: String should have at most 64 characters",
        ),
        (json!({"requests": [item("a.b")]}), "pattern"),
        (json!({"requests": 3}), "invalid type"),
    ];
    for (body, why) in cases {
        let refused = stage.post("/v1/messages/batches", &body).await;
        assert_eq!(refused.status, 400);
        let body = refused.json();
        assert_eq!(body["type"], "error");
        assert_eq!(body["error"]["type"], "invalid_request_error");
        assert!(
            body["error"]["message"].as_str().unwrap().contains(why),
            "{body}"
        );
    }
}
