//! Tools, formats, reasoning and caches of Chat Completions.

use serde_json::{Value, json};
use simulator::{SimulatedProvider, rule};

use crate::support::{TestSimulator, openai_line};

const CHAT_PATH: &str = "/v1/chat/completions";

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// A request of one user message with more fields.
fn chat(model: &str, text: &str, more: Value) -> Value {
    let mut body = json!({"model": model, "messages": [user(text)]});
    if let (Some(body), Value::Object(more)) = (body.as_object_mut(), more) {
        body.extend(more);
    }
    body
}

fn weather_tool() -> Value {
    json!({"type": "function", "function": {"name": "weather", "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 2}},
        "required": ["city"],
    }}})
}

async fn answer(stage: &TestSimulator, body: &Value) -> Value {
    stage.post(CHAT_PATH, body).await.expect_ok()
}

#[tokio::test]
async fn a_forced_tool_is_called_with_an_input_of_its_schema() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    for choice in [
        json!("required"),
        json!({"type": "function", "function": {"name": "weather"}}),
    ] {
        let more = json!({"tools": [weather_tool()], "tool_choice": choice});
        let choice = answer(&stage, &chat("gpt-sim", "hello", more)).await["choices"][0].clone();
        assert_eq!(choice["finish_reason"], "tool_calls");
        assert_eq!(choice["message"]["content"], Value::Null);
        let call = &choice["message"]["tool_calls"][0];
        assert!(call["id"].as_str().unwrap().starts_with("call_"));
        let arguments = call["function"]["arguments"].as_str().unwrap();
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        assert_eq!(arguments, json!({"city": "sim", "days": 2}));
    }
    let free = chat("gpt-sim", "hello", json!({"tools": [weather_tool()]}));
    let choice = answer(&stage, &free).await["choices"][0].clone();
    assert_eq!(choice["message"]["content"], rule::chat_text("hello"));
}

#[tokio::test]
async fn directives_call_tools_in_any_number_and_form() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let text = r#"[sim:tool a {"x":[1]}] [sim:tool b] [sim:badargs c {"x":]"#;
    let choice = answer(&stage, &chat("gpt-sim", text, json!({}))).await["choices"][0].clone();
    let calls = choice["message"]["tool_calls"].as_array().unwrap();
    let arguments: Vec<&Value> = calls
        .iter()
        .map(|it| &it["function"]["arguments"])
        .collect();
    assert_eq!(arguments, [r#"{"x":[1]}"#, "{}", r#"{"x":"#]);
    let nameless = chat("gpt-sim", "[sim:tool a] [sim:noid]", json!({}));
    let choice = answer(&stage, &nameless).await["choices"][0].clone();
    assert_eq!(choice["message"]["tool_calls"][0].get("id"), None);
}

#[tokio::test]
async fn the_results_of_tools_are_answered_with_a_text() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let call =
        json!({"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}});
    let mut body = chat(
        "gpt-sim",
        "[sim:tool weather]",
        json!({"tools": [weather_tool()]}),
    );
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
    messages.push(json!({"role": "tool", "tool_call_id": "c1", "content": "rain"}));
    let choice = answer(&stage, &body).await["choices"][0].clone();
    assert_eq!(choice["message"]["content"], rule::chat_text("rain"));
    body["messages"][2]["tool_call_id"] = json!("other");
    assert_eq!(stage.post(CHAT_PATH, &body).await.status, 400);
    body["messages"].as_array_mut().unwrap().pop();
    let refused = stage.post(CHAT_PATH, &body).await;
    assert!(
        refused
            .text()
            .contains("did not have response messages: c1")
    );
}

#[tokio::test]
async fn a_schema_is_answered_with_its_json() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "kind": {"enum": ["b", "a"]},
            "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
            "size": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        },
        "required": ["name", "kind", "items", "size"],
        "additionalProperties": false,
        "$defs": {"item": {"type": "boolean"}},
    });
    let format = json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": true}});
    let body = chat("gpt-sim", "hello", json!({"response_format": format}));
    let choice = answer(&stage, &body).await["choices"][0].clone();
    let text = choice["message"]["content"].as_str().unwrap();
    let expected = json!({"name": "sim", "kind": "b", "items": [true], "size": 1});
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), expected);
}

#[tokio::test]
async fn reasoning_is_counted_and_not_shown() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let body = chat("gpt-5", "hello", json!({}));
    let response = answer(&stage, &body).await;
    let usage = &response["usage"];
    assert_eq!(usage["completion_tokens_details"]["reasoning_tokens"], 3);
    assert_eq!(usage["completion_tokens"], 5);
    let mut cut = body.clone();
    cut["max_completion_tokens"] = json!(3);
    let choice = answer(&stage, &cut).await["choices"][0].clone();
    assert_eq!(choice["message"]["content"], "");
    assert_eq!(choice["finish_reason"], "length");
    let unasked = chat(
        "gpt-sim",
        "[sim:think one two]",
        json!({"reasoning_effort": "none"}),
    );
    let usage = answer(&stage, &unasked).await["usage"].clone();
    assert_eq!(usage["completion_tokens_details"]["reasoning_tokens"], 2);
}

#[tokio::test]
async fn usage_is_reported_as_a_directive_says() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let text = |style: &str| {
        format!("[sim:cached 100] [sim:write 20] [sim:think a b] [sim:usage {style}]")
    };
    let usage_of = async |style: &str| {
        let body = chat("gpt-sim", &text(style), json!({}));
        answer(&stage, &body).await["usage"].clone()
    };
    let usual = usage_of("usual").await;
    assert_eq!(usual["prompt_tokens"], 120);
    let details = json!({"cached_tokens": 100, "audio_tokens": 0, "cache_write_tokens": 20});
    assert_eq!(usual["prompt_tokens_details"], details);
    let output = usual["completion_tokens"].as_u64().unwrap();
    let exclusive = usage_of("exclusive").await;
    assert_eq!(exclusive["completion_tokens"], output - 2);
    assert_eq!(exclusive["total_tokens"], 120 + output);
    assert_eq!(usage_of("null").await["prompt_tokens"], Value::Null);
    assert_eq!(usage_of("strings").await["prompt_tokens"], "120");
    let over = usage_of("cached-over").await;
    assert_eq!(over["prompt_tokens_details"]["cached_tokens"], 220);
}

/// The model, the fields, and a word of the refusal.
type RefusedCase = (&'static str, Value, &'static str);

async fn assert_refused(cases: impl IntoIterator<Item = RefusedCase>) {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    for (model, more, why) in cases {
        let refused = stage.post(CHAT_PATH, &chat(model, "x", more.clone())).await;
        assert_eq!(refused.status, 400, "{model} {more}: {}", refused.text());
        let message = refused.json()["error"]["message"].clone();
        assert!(
            message.as_str().unwrap().contains(why),
            "{model} {more}: {message}"
        );
    }
}

#[tokio::test]
async fn invalid_fields_are_refused_whatever_the_model() {
    let tools = json!([weather_tool()]);
    let named = json!({"type": "function", "function": {"name": "x"}});
    let argument = "Unrecognized request argument supplied: top_k";
    let choice = json!({"tools": tools, "tool_choice": named});
    let stops = json!({"stop": ["a", "b", "c", "d", "e"]});
    assert_refused([
        ("gpt-sim", json!({"top_k": 3}), argument),
        ("gpt-sim", json!({"tools": []}), "empty array"),
        (
            "gpt-sim",
            json!({"tool_choice": "auto"}),
            "only allowed when 'tools'",
        ),
        ("gpt-sim", choice, "no function named 'x'"),
        ("gpt-sim", stops, "maximum length 4"),
    ])
    .await;
}

#[tokio::test]
async fn a_strict_schema_is_closed_and_has_no_optional_properties() {
    let strict = |schema: Value| {
        let format = json!({"name": "a", "schema": schema, "strict": true});
        json!({"response_format": {"type": "json_schema", "json_schema": format}})
    };
    let open = json!({"type": "object", "properties": {}});
    let optional = json!({
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": [],
        "additionalProperties": false,
    });
    let union = json!({"anyOf": [{"type": "object"}]});
    let all_of = json!({"type": "object", "allOf": [], "additionalProperties": false});
    assert_refused([
        (
            "gpt-sim",
            strict(open),
            "'additionalProperties' is required",
        ),
        ("gpt-sim", strict(optional), "Missing 'a'"),
        ("gpt-sim", strict(union), "type: \"object\""),
        ("gpt-sim", strict(all_of), "'allOf' is not permitted"),
    ])
    .await;
}

#[tokio::test]
async fn the_schema_of_a_tool_is_no_union_and_its_arrays_have_items() {
    let tool = |schema: Value| {
        let function = json!({"name": "a", "parameters": schema});
        json!({"tools": [{"type": "function", "function": function}]})
    };
    let union = |keyword: &str| tool(json!({"type": "object", keyword: [{"type": "object"}]}));
    let list = json!({"type": "object", "properties": {"a": {"type": "array"}}});
    let top_level = "at the top level";
    assert_refused([
        ("gpt-sim", union("anyOf"), top_level),
        ("gpt-sim", union("oneOf"), top_level),
        ("gpt-sim", union("allOf"), top_level),
        (
            "gpt-sim",
            tool(list),
            "In context=('properties', 'a'), array schema missing items",
        ),
    ])
    .await;
}

#[tokio::test]
async fn each_model_refuses_what_it_does_not_take() {
    let tools = json!([weather_tool()]);
    let explicit = json!({"prompt_cache_options": {"mode": "explicit"}});
    let effort = json!({"tools": tools, "reasoning_effort": "low"});
    let use_responses = "Please use /v1/responses";
    assert_refused([
        (
            "gpt-4.1",
            json!({"reasoning_effort": "low"}),
            "'reasoning_effort' is not supported",
        ),
        (
            "gpt-4.1",
            explicit,
            "'prompt_cache_options' is not supported",
        ),
        (
            "gpt-5.5",
            json!({"prompt_cache_key": "k"}),
            "'prompt_cache_key' is not supported",
        ),
        (
            "gpt-5",
            json!({"reasoning_effort": "none"}),
            "'none' is not supported",
        ),
        (
            "gpt-5",
            json!({"temperature": 0.2}),
            "'temperature' does not support 0.2",
        ),
        (
            "gpt-5",
            json!({"max_tokens": 10}),
            "Use 'max_completion_tokens'",
        ),
        ("gpt-5.4", effort, use_responses),
        ("gpt-5.6-sol", json!({"tools": tools}), use_responses),
        ("gpt-6", json!({"tools": tools}), use_responses),
    ])
    .await;
}

#[tokio::test]
async fn each_model_accepts_what_it_takes() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let tools = json!([weather_tool()]);
    let explicit = json!({"prompt_cache_key": "k", "prompt_cache_options": {"mode": "explicit"}});
    let silent = json!({"tools": tools, "reasoning_effort": "none", "temperature": 0.2});
    let accepted = [
        ("gpt-4.1", json!({"temperature": 0.2, "tools": tools})),
        ("gpt-5", json!({"temperature": 1})),
        ("gpt-5.4", json!({"tools": tools})),
        ("gpt-5.6", silent),
        ("gpt-5.6", explicit),
    ];
    for (model, more) in accepted {
        let seen = stage.post(CHAT_PATH, &chat(model, "x", more.clone())).await;
        assert_eq!(seen.status, 200, "{model} {more}: {}", seen.text());
    }
}

#[tokio::test]
async fn a_refused_request_fails_its_own_line_in_a_batch() {
    let stage = TestSimulator::start(SimulatedProvider::OpenAi).await;
    let mut bad: Value = serde_json::from_str(&openai_line("bad", "x")).unwrap();
    bad["body"]["top_k"] = json!(3);
    let lines = [openai_line("good", "x"), bad.to_string()];
    let created = stage.try_create_batch(&lines).await.unwrap().expect_ok();
    stage.finish_jobs();
    let done = stage.get_batch(created["id"].as_str().unwrap()).await;
    assert_eq!(done["status"], "completed");
    let errors = stage.get_content(&done["error_file_id"]).await.lines();
    assert_eq!(errors[0]["custom_id"], "bad");
    assert_eq!(errors[0]["response"]["status_code"], 400);
    let message = &errors[0]["response"]["body"]["error"]["message"];
    assert_eq!(message, "Unrecognized request argument supplied: top_k");
}

#[tokio::test]
async fn a_compatible_server_takes_unknown_fields_and_shows_thoughts() {
    let stage = TestSimulator::start(SimulatedProvider::Server).await;
    let more = json!({"top_k": 3, "cache_salt": "s", "reasoning_effort": "low"});
    let choice = answer(&stage, &chat("llama", "hello", more)).await["choices"][0].clone();
    let thought = rule::thinking_text("hello");
    assert_eq!(choice["message"]["reasoning_content"], thought);
    let body = chat("llama", "[sim:abort]", json!({}));
    let choice = answer(&stage, &body).await["choices"][0].clone();
    assert_eq!(choice["finish_reason"], "abort");
}
