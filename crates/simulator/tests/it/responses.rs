//! `OpenAI`'s Responses API, in a batch and at once.

use serde_json::{Value, json};
use simulator::{SimulatedProvider, rule};

use crate::support::TestSimulator;

const PATH: &str = "/v1/responses";

fn request(model: &str, text: &str, more: Value) -> Value {
    let mut body = json!({"model": model, "input": [{"role": "user", "content": text}]});
    if let (Some(body), Value::Object(more)) = (body.as_object_mut(), more) {
        body.extend(more);
    }
    body
}

fn tool() -> Value {
    json!({"type": "function", "name": "weather", "strict": false, "parameters": {
        "type": "object", "properties": {"city": {"type": "string"}},
    }})
}

async fn start() -> TestSimulator {
    TestSimulator::start(SimulatedProvider::OpenAi).await
}

#[tokio::test]
async fn a_response_has_items_and_no_finish_reason() {
    let stage = start().await;
    let response = stage
        .post(PATH, &request("gpt-sim", "hello", json!({})))
        .await
        .expect_ok();
    assert_eq!(
        (&response["object"], &response["status"]),
        (&json!("response"), &json!("completed"))
    );
    let message = &response["output"][0];
    assert_eq!(message["type"], "message");
    assert_eq!(message["content"][0]["text"], rule::chat_text("hello"));
    assert_eq!(response["usage"]["input_tokens"], 2);
    let cut = stage
        .post(PATH, &request("gpt-sim", "[sim:cut] a b c", json!({})))
        .await
        .expect_ok();
    assert_eq!(cut["status"], "incomplete");
    assert_eq!(cut["incomplete_details"]["reason"], "max_output_tokens");
    let refused = stage
        .post(PATH, &request("gpt-sim", "[sim:refuse]", json!({})))
        .await
        .expect_ok();
    assert_eq!(refused["output"][0]["content"][0]["type"], "refusal");
    let text = "[sim:responses-failed server_error]";
    let failed = stage
        .post(PATH, &request("gpt-sim", text, json!({})))
        .await
        .expect_ok();
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed["error"]["code"], "server_error");
}

#[tokio::test]
async fn reasoning_comes_back_unchanged_in_a_tool_loop() {
    let stage = start().await;
    let more = json!({"tools": [tool()], "include": ["reasoning.encrypted_content"]});
    let mut body = request("gpt-5.6", r#"[sim:tool weather {"city":"Bern"}]"#, more);
    let first = stage.post(PATH, &body).await.expect_ok();
    let output = first["output"].as_array().unwrap().clone();
    let kinds: Vec<&Value> = output.iter().map(|it| &it["type"]).collect();
    assert_eq!(kinds, ["reasoning", "function_call"]);
    assert!(output[0]["encrypted_content"].is_string());
    let call_id = output[1]["call_id"].clone();
    let input = body["input"].as_array_mut().unwrap();
    input.extend(output);
    input.push(json!({"type": "function_call_output", "call_id": call_id, "output": "rain"}));
    let second = stage.post(PATH, &body).await.expect_ok();
    let last = second["output"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["content"][0]["text"], rule::chat_text("rain"));
    let mut changed = body.clone();
    changed["input"][1]["encrypted_content"] = json!("gAAA");
    let refused = stage.post(PATH, &changed).await;
    assert_eq!(refused.json()["error"]["code"], "invalid_encrypted_content");
    body["input"].as_array_mut().unwrap().pop();
    let refused = stage.post(PATH, &body).await;
    assert!(
        refused
            .text()
            .contains("No tool output found for function call")
    );
}

#[tokio::test]
async fn summaries_are_shown_on_request() {
    let stage = start().await;
    let more = json!({"reasoning": {"effort": "low", "summary": "auto"}});
    let response = stage
        .post(PATH, &request("gpt-5.6", "hello", more))
        .await
        .expect_ok();
    let summary = &response["output"][0]["summary"][0]["text"];
    assert_eq!(summary, &rule::thinking_text("hello"));
    assert_eq!(
        response["usage"]["output_tokens_details"]["reasoning_tokens"],
        3
    );
}

#[tokio::test]
async fn responses_are_batched() {
    let stage = start().await;
    let line = |id: &str, body: Value| {
        json!({"custom_id": id, "method": "POST", "url": PATH, "body": body}).to_string()
    };
    let lines = [
        line("a", request("gpt-sim", "hello", json!({}))),
        line("b", request("gpt-sim", "x", json!({"stop": ["y"]}))),
    ];
    let file = stage.upload(lines.join("\n")).await.expect_ok();
    let create = json!({"input_file_id": file["id"], "endpoint": PATH, "completion_window": "24h"});
    let id = stage.post("/v1/batches", &create).await.expect_ok()["id"].clone();
    stage.finish_jobs();
    let done = stage.get_batch(id.as_str().unwrap()).await;
    let output = stage.get_content(&done["output_file_id"]).await.lines();
    assert_eq!(output[0]["response"]["body"]["object"], "response");
    let errors = stage.get_content(&done["error_file_id"]).await.lines();
    let error = &errors[0]["response"]["body"]["error"];
    assert_eq!(
        (&error["code"], &error["param"]),
        (&json!("unknown_parameter"), &json!("stop"))
    );
}

#[tokio::test]
async fn requests_are_refused_as_openai_refuses_them() {
    let stage = start().await;
    let open_tool = json!({"type": "function", "name": "a", "parameters": {"type": "object", "properties": {}}});
    let cases = [
        ("gpt-sim", json!({"seed": 1}), "Unknown parameter: 'seed'"),
        (
            "gpt-sim",
            json!({"tools": [open_tool]}),
            "'additionalProperties' is required",
        ),
        (
            "gpt-sim",
            json!({"reasoning": {"efort": "low"}}),
            "reasoning.efort",
        ),
        (
            "gpt-sim",
            json!({"text": {"format": {"type": "json_schema", "schema": {}}}}),
            "text.format.name",
        ),
        ("gpt-sim", json!({"service_tier": "cheap"}), "'cheap'"),
        (
            "gpt-5.6",
            json!({"max_output_tokens": 5}),
            "Expected a value >= 16",
        ),
        (
            "gpt-5.6",
            json!({"temperature": 0.5}),
            "'temperature' does not support 0.5",
        ),
        (
            "gpt-5.4",
            json!({"prompt_cache_key": "k"}),
            "'prompt_cache_key' is not supported",
        ),
        (
            "gpt-sim",
            json!({"input": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]}),
            "Invalid value: 'text'",
        ),
    ];
    for (model, more, why) in cases {
        let refused = stage.post(PATH, &request(model, "x", more.clone())).await;
        assert_eq!(refused.status, 400, "{model} {more}: {}", refused.text());
        assert!(
            refused.text().contains(why),
            "{model} {more}: {}",
            refused.text()
        );
    }
}
