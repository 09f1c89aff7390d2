//! Gemini's tools, schemas, thinking and thought signatures.

use serde_json::{Value, json};
use simulator::{SimulatedProvider, rule};

use crate::gemini::content;
use crate::support::{TestResponse, TestSimulator};

async fn start() -> TestSimulator {
    TestSimulator::start(SimulatedProvider::Gemini).await
}

async fn send(stage: &TestSimulator, model: &str, request: &Value) -> TestResponse {
    let path = format!("/v1beta/models/{model}:generateContent");
    stage.post(&path, request).await
}

fn request(text: &str, more: Value) -> Value {
    let mut body = content(text);
    if let (Some(body), Value::Object(more)) = (body.as_object_mut(), more) {
        body.extend(more);
    }
    body
}

fn tools() -> Value {
    json!([{"functionDeclarations": [{"name": "weather", "parametersJsonSchema": {
        "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
    }}]}])
}

fn parts(response: &Value) -> Vec<Value> {
    let parts = &response["candidates"][0]["content"]["parts"];
    parts.as_array().unwrap().clone()
}

#[tokio::test]
async fn a_forced_function_is_called_and_the_reason_is_stop() {
    let stage = start().await;
    let config =
        json!({"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["weather"]}});
    let body = request("hello", json!({"tools": tools(), "toolConfig": config}));
    let response = send(&stage, "gemini-sim", &body).await.expect_ok();
    assert_eq!(response["candidates"][0]["finishReason"], "STOP");
    let call = parts(&response)[0]["functionCall"].clone();
    assert_eq!(
        (&call["name"], &call["args"]),
        (&json!("weather"), &json!({"city": "sim"}))
    );
    assert!(call["id"].is_string());
    let body = request("[sim:tool weather] [sim:noid]", json!({}));
    let response = send(&stage, "gemini-sim", &body).await.expect_ok();
    assert_eq!(parts(&response)[0]["functionCall"].get("id"), None);
}

#[tokio::test]
async fn the_first_call_of_the_current_turn_needs_its_signature() {
    let stage = start().await;
    let text = r#"[sim:tool weather {"city":"Bern"}] [sim:tool weather {"city":"Rome"}]"#;
    let mut body = request(text, json!({"tools": tools()}));
    let first = send(&stage, "gemini-3-pro", &body).await.expect_ok();
    let calls = parts(&first);
    assert!(calls[0]["thoughtSignature"].is_string());
    assert_eq!(calls[1].get("thoughtSignature"), None);
    let response = json!({"functionResponse": {"name": "weather", "response": {"output": "rain"}}});
    let contents = body["contents"].as_array_mut().unwrap();
    contents.push(json!({"role": "model", "parts": calls}));
    contents.push(json!({"role": "user", "parts": [response, response]}));
    let second = send(&stage, "gemini-3-pro", &body).await.expect_ok();
    let text = parts(&second)[0]["text"].clone();
    assert_eq!(text, rule::chat_text("rain\nrain"));

    let signature = |value: Value| {
        let mut changed = body.clone();
        changed["contents"][1]["parts"][0]["thoughtSignature"] = value;
        changed
    };
    let corrupted = send(&stage, "gemini-3-pro", &signature(json!("AAAA"))).await;
    assert!(corrupted.text().contains("Corrupted thought signature."));
    let bypass = signature(json!("skip_thought_signature_validator"));
    assert_eq!(send(&stage, "gemini-3-pro", &bypass).await.status, 200);
    let mut missing = body.clone();
    let part = missing["contents"][1]["parts"][0].as_object_mut().unwrap();
    part.remove("thoughtSignature");
    let refused = send(&stage, "gemini-3-pro", &missing).await;
    assert!(refused.text().contains("is missing a thought_signature"));
    assert_eq!(send(&stage, "gemini-2.5-pro", &missing).await.status, 200);
    // The calls of earlier turns are not checked.
    let next = json!({"role": "user", "parts": [{"text": "and now"}]});
    missing["contents"].as_array_mut().unwrap().push(next);
    assert_eq!(send(&stage, "gemini-3-pro", &missing).await.status, 200);
}

#[tokio::test]
async fn thoughts_are_parts_and_counted_apart() {
    let stage = start().await;
    let config = json!({"thinkingConfig": {"includeThoughts": true, "thinkingBudget": 1024}});
    let body = request("hello", json!({"generationConfig": config}));
    let response = send(&stage, "gemini-2.5-flash", &body).await.expect_ok();
    let shown = parts(&response);
    assert_eq!(shown[0]["thought"], true);
    assert_eq!(shown[0]["text"], rule::thinking_text("hello"));
    let usage = json!({"promptTokenCount": 2, "candidatesTokenCount": 2, "thoughtsTokenCount": 3, "totalTokenCount": 7});
    assert_eq!(response["usageMetadata"], usage);
    let inclusive = request("[sim:think a b] [sim:usage inclusive]", json!({}));
    let response = send(&stage, "gemini-sim", &inclusive).await.expect_ok();
    let usage = &response["usageMetadata"];
    let count = |name: &str| usage[name].as_u64().unwrap();
    assert_eq!(count("thoughtsTokenCount"), 2);
    assert_eq!(
        count("promptTokenCount") + count("candidatesTokenCount"),
        count("totalTokenCount")
    );
}

#[tokio::test]
async fn endings_have_their_own_names() {
    let stage = start().await;
    for (text, reason) in [
        ("[sim:continuation]", "CONTINUATION"),
        ("[sim:abort]", "MALFORMED_RESPONSE"),
        ("[sim:cut] a b", "MAX_TOKENS"),
        ("[sim:refuse-empty]", "SAFETY"),
    ] {
        let response = send(&stage, "gemini-sim", &request(text, json!({})))
            .await
            .expect_ok();
        assert_eq!(response["candidates"][0]["finishReason"], reason);
    }
}

/// The model, the fields, and a word of the refusal.
type RefusedCase = (&'static str, Value, &'static str);

async fn assert_refused(cases: impl IntoIterator<Item = RefusedCase>) {
    let stage = start().await;
    for (model, more, why) in cases {
        let refused = send(&stage, model, &request("x", more.clone())).await;
        assert_eq!(refused.status, 400, "{model} {more}: {}", refused.text());
        let message = refused.json()["error"]["message"].clone();
        assert!(
            message.as_str().unwrap().contains(why),
            "{model} {more}: {message}"
        );
    }
}

fn thinking(config: &Value) -> Value {
    json!({"generationConfig": {"thinkingConfig": config}})
}

#[tokio::test]
async fn invalid_fields_are_refused_whatever_the_model() {
    let config = |config: Value| json!({"generationConfig": config});
    let recursive = json!({
        "type": "object",
        "properties": {"a": {"$ref": "#"}},
        "required": ["a"],
    });
    let mime_type = "application/json";
    let recursive = json!({"responseMimeType": mime_type, "responseJsonSchema": recursive});
    let stops = json!({"stopSequences": ["a", "b", "c", "d", "e", "f"]});
    let any = json!({"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}});
    let both = json!({"thinkingBudget": 1, "thinkingLevel": "LOW"});
    let schema = config(json!({"responseJsonSchema": {}}));
    let seed = "Unknown name \"seed\": Cannot find field.";
    let top_x = "Unknown name \"top_x\" at 'generation_config'";
    assert_refused([
        ("gemini-sim", json!({"seed": 1}), seed),
        ("gemini-sim", config(json!({"top_x": 1})), top_x),
        ("gemini-sim", config(stops), "at most 5 stop sequences"),
        (
            "gemini-sim",
            schema,
            "only supported with response mime type",
        ),
        (
            "gemini-sim",
            config(recursive),
            "recursive in a required property",
        ),
        ("gemini-sim", any, "without function_declarations"),
        ("gemini-sim", thinking(&both), "only one of thinking budget"),
    ])
    .await;
}

#[tokio::test]
async fn each_model_refuses_what_it_does_not_take() {
    let json_answer = json!({"responseMimeType": "application/json"});
    let both = json!({"tools": tools(), "generationConfig": json_answer});
    let budget = |tokens: u64| thinking(&json!({"thinkingBudget": tokens}));
    let level = |level: &str| thinking(&json!({"thinkingLevel": level}));
    let function_calling = "Function calling with a response mime type";
    assert_refused([
        ("gemini-2.5-flash", both.clone(), function_calling),
        ("gemini-2.5-pro", budget(0), "only works in thinking mode"),
        ("gemini-2.5-flash", budget(30_000), "between 0 and 24576"),
        ("gemini-2.5-flash", level("LOW"), "level is not supported"),
        ("gemini-3-pro", level("MEDIUM"), "MEDIUM is not supported"),
    ])
    .await;
    let stage = start().await;
    let accepted = send(&stage, "gemini-3-pro", &request("x", both)).await;
    assert_eq!(accepted.status, 200, "{}", accepted.text());
}

#[tokio::test]
async fn a_refused_request_fails_its_own_line_in_a_batch() {
    let stage = start().await;
    let bad = json!({"key": "bad", "request": request("x", json!({"seed": 1}))}).to_string();
    let name = stage
        .create_from_file(&[crate::gemini::line("good", "x"), bad])
        .await;
    stage.finish_jobs();
    let done = stage.get_operation(&name).await;
    let file = done["response"]["responsesFile"].as_str().unwrap();
    let path = format!("/download/v1beta/{file}:download?alt=media");
    let lines = stage.get(&path).await.lines();
    assert!(lines[0].get("response").is_some());
    assert_eq!(lines[1]["error"]["code"], 3);
    assert!(
        lines[1]["error"]["message"]
            .as_str()
            .unwrap()
            .contains("\"seed\"")
    );
}
