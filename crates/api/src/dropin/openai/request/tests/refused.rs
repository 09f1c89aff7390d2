//! What params cannot say is refused, and the message names the field.

use serde_json::{Value, json};

use super::{chat, response};

fn expect_refusals(
    convert: impl Fn(Value) -> Result<Value, String>,
    cases: impl IntoIterator<Item = (Value, &'static str)>,
) {
    for (fields, named) in cases {
        match convert(fields.clone()) {
            Ok(params) => assert_eq!(params, Value::Null, "{fields} is accepted"),
            Err(message) => {
                assert!(
                    message.contains(&format!("'{named}'")),
                    "{fields}: {message}"
                );
            }
        }
    }
}

#[test]
fn fields_of_chat() {
    expect_refusals(
        chat,
        [
            (json!({"model": null}), "model"),
            (json!({"model": 1}), "model"),
            (json!({"messages": null}), "messages"),
            (json!({"messages": "Hi"}), "messages"),
            (json!({"n": 2}), "n"),
            (json!({"stream": true}), "stream"),
            (
                json!({"stream_options": {"include_usage": true}}),
                "stream_options",
            ),
            (json!({"temperature": 1.5}), "temperature"),
            (json!({"temperature": "hot"}), "temperature"),
            (json!({"logprobs": true}), "logprobs"),
            (json!({"top_logprobs": 3}), "top_logprobs"),
            (json!({"stop": 1}), "stop"),
            (json!({"service_tier": "priority"}), "service_tier"),
            (json!({"reasoning_effort": "minimal"}), "reasoning_effort"),
            (
                json!({"response_format": {"type": "json_object"}}),
                "response_format.type",
            ),
            (
                json!({"response_format": {"type": "json_schema"}}),
                "response_format.json_schema",
            ),
            (
                json!({"response_format": {"type": "json_schema", "json_schema": {"name": "a"}}}),
                "response_format.json_schema.schema",
            ),
            (json!({"modalities": ["text", "audio"]}), "modalities"),
            (json!({"audio": {"voice": "a"}}), "audio"),
            (json!({"prediction": {"type": "content"}}), "prediction"),
            (json!({"web_search_options": {}}), "web_search_options"),
            (json!({"functions": []}), "functions"),
            (json!({"function_call": "auto"}), "function_call"),
            (json!({"max_tokenz": 5}), "max_tokenz"),
            (json!({"tools": {}}), "tools"),
            (
                json!({"tools": [{"type": "custom", "custom": {}}]}),
                "tools[0].type",
            ),
            (
                json!({"tools": [{"type": "function"}]}),
                "tools[0].function",
            ),
            (
                json!({"tools": [{"type": "function", "function": {}}]}),
                "tools[0].function.name",
            ),
            (json!({"tool_choice": "some"}), "tool_choice"),
            (
                json!({"tool_choice": {"type": "allowed_tools"}}),
                "tool_choice",
            ),
            (json!({"metadata": []}), "metadata"),
            (json!({"user": 1}), "user"),
        ],
    );
}

#[test]
fn parts_of_messages() {
    let user = |content: Value| json!({"messages": [{"role": "user", "content": content}]});
    let url = |url: &str| user(json!([{"type": "image_url", "image_url": {"url": url}}]));
    let detailed = json!({"url": "longshore://f", "detail": "high"});
    expect_refusals(
        chat,
        [
            (user(json!(1)), "messages[0].content"),
            (user(json!([{"text": "a"}])), "messages[0].content[0].type"),
            (
                user(json!([{"type": "input_audio", "input_audio": {}}])),
                "messages[0].content[0].type",
            ),
            (
                url("https://example.com/a.png"),
                "messages[0].content[0].image_url.url",
            ),
            (
                url("data:image/png;base64,AA=="),
                "messages[0].content[0].image_url.url",
            ),
            (
                user(json!([{"type": "image_url", "image_url": detailed}])),
                "messages[0].content[0].image_url.detail",
            ),
            (
                user(json!([{"type": "file", "file": {"file_data": "AA=="}}])),
                "messages[0].content[0].file.file_data",
            ),
            (
                user(json!([{"type": "text", "text": "a", "annotations": [1]}])),
                "messages[0].content[0].annotations",
            ),
        ],
    );
}

#[test]
fn messages_of_chat() {
    let message = |message: Value| json!({"messages": [message]});
    let system = json!([{"type": "image_url"}]);
    expect_refusals(
        chat,
        [
            (message(json!(1)), "messages[0]"),
            (message(json!({"content": "a"})), "messages[0].role"),
            (
                message(json!({"role": "function", "content": "a"})),
                "messages[0].role",
            ),
            (message(json!({"role": "user"})), "messages[0].content"),
            (
                message(json!({"role": "user", "content": "a", "name": "Ada"})),
                "messages[0].name",
            ),
            (message(json!({"role": "assistant"})), "messages[0].content"),
            (
                message(json!({"role": "assistant", "content": "a", "audio": {"id": "a"}})),
                "messages[0].audio",
            ),
            (
                message(json!({"role": "assistant", "content": "a", "function_call": {}})),
                "messages[0].function_call",
            ),
            (
                message(json!({"role": "assistant", "tool_calls": [{"type": "custom"}]})),
                "messages[0].tool_calls[0].type",
            ),
            (
                message(json!({"role": "assistant", "tool_calls": [{"type": "function"}]})),
                "messages[0].tool_calls[0].id",
            ),
            (
                message(json!({"role": "tool", "content": "a"})),
                "messages[0].tool_call_id",
            ),
            (
                message(json!({"role": "system", "content": system})),
                "messages[0].content[0].type",
            ),
        ],
    );
}

#[test]
fn fields_of_responses() {
    let item = |item: Value| json!({"input": [item]});
    expect_refusals(
        response,
        [
            (json!({"input": null}), "input"),
            (json!({"input": 1}), "input"),
            (json!({"background": true}), "background"),
            (json!({"truncation": "auto"}), "truncation"),
            (
                json!({"previous_response_id": "resp_1"}),
                "previous_response_id",
            ),
            (json!({"conversation": "conv_1"}), "conversation"),
            (
                json!({"include": ["message.output_text.logprobs"]}),
                "include",
            ),
            (json!({"max_tool_calls": 3}), "max_tool_calls"),
            (json!({"prompt": {"id": "p"}}), "prompt"),
            (json!({"stream": true}), "stream"),
            (json!({"tools": [{"type": "web_search"}]}), "tools[0].type"),
            (
                json!({"text": {"format": {"type": "json_object"}}}),
                "text.format.type",
            ),
            (
                json!({"text": {"format": {"type": "text"}, "style": "x"}}),
                "text.style",
            ),
            (
                json!({"reasoning": {"effort": "minimal"}}),
                "reasoning.effort",
            ),
            (
                json!({"reasoning": {"summary": "detailed"}}),
                "reasoning.summary",
            ),
            (
                item(json!({"type": "item_reference", "id": "a"})),
                "input[0].type",
            ),
            (
                item(json!({"type": "web_search_call", "id": "a"})),
                "input[0].type",
            ),
            (
                item(json!({"role": "critic", "content": "a"})),
                "input[0].role",
            ),
            (item(json!({"role": "user"})), "input[0].content"),
            (
                item(json!({"type": "function_call", "name": "f"})),
                "input[0].call_id",
            ),
            (
                item(json!({"type": "function_call_output", "call_id": "a"})),
                "input[0].output",
            ),
            (
                item(
                    json!({"role": "user", "content": [{"type": "input_image", "image_url": "https://a"}]}),
                ),
                "input[0].content[0].image_url",
            ),
            (
                item(
                    json!({"role": "user", "content": [{"type": "input_file", "file_url": "https://a"}]}),
                ),
                "input[0].content[0].file_url",
            ),
        ],
    );
}
