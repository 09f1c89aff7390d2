//! The validation of fields that Longshore does not have.

use serde_json::{Value, json};

use super::extension_tests::{schema, warnings};
use super::tests::{RULES, accepted, chat, validation_errors};
use super::*;

#[test]
fn fields_of_vendors_are_refused_with_our_spelling() {
    let body = chat(json!({
        "response_format": {"type": "json_object"},
        "reasoning_effort": "low",
        "n": 2,
        "messages": [
            {"role": "assistant", "content": "", "tool_calls": []},
            {"role": "user", "content": [{"type": "text", "text": "a", "citations": {}}]},
        ],
    }));
    insta::assert_snapshot!(validation_errors(&body), @r#"
    body.params.messages.0.tool_calls value_error: Longshore has no field of this name. Write each call as a block of content: {"type": "tool_use", "id": …, "name": …, "input": {…}}.
    body.params.messages.1.content.0.citations value_error: Longshore has no field of this name. Leave it out, or write it into a text block: answers have no citations.
    body.params.response_format value_error: Longshore has no field of this name. Use output_config.format: {"type": "json_schema", "schema": {…}}.
    body.params.reasoning_effort value_error: Longshore has no field of this name. Use output_config.effort: low, medium, high, xhigh or max.
    body.params.n value_error: Longshore has no field of this name. Leave it out, and load the request as often as you need answers.
    "#);
}

#[test]
fn other_unknown_fields_are_ignored_and_named() {
    let mut body = chat(json!({
        "messages": [{"role": "user", "content": [
            {"type": "text", "text": "a", "source": {"file_id": 5}, "x": 1},
            {"type": "image", "source": {"type": "file", "file_id": "f"}},
        ]}],
        "tools": [{"name": "t", "input_schema": schema(), "owner": "me"}],
        "stream": true,
        "metadata": {"a": 1},
    }));
    body["colour"] = json!("red");
    body["user"] = json!("me");
    insta::assert_snapshot!(warnings(&body), @"
    params.messages.0.content.0.x unknown_field: Longshore has no field of this name and ignores it.
    params.messages.0.content.0.source unknown_field: A block of this type has no such field, so it is ignored.
    params.messages.0.content.1.source.type unknown_field: Longshore has no field of this name and ignores it.
    params.tools.0.owner unknown_field: Longshore has no field of this name and ignores it.
    params.stream unknown_field: The field is ignored: the answer is sent to callback_url when it is complete.
    params.metadata unknown_field: The field is ignored. Put your own tags into metadata, beside params.
    colour unknown_field: Longshore has no field of this name and ignores it.
    user unknown_field: The field is ignored. Put your own tags into metadata, beside params.
    ");
}

#[test]
fn fields_for_the_model_are_refused_beside_params() {
    let body = json!({
        "params": chat(json!({}))["params"],
        "tools": [],
        "temperature": 0.5,
        "toolChoice": {"type": "any"},
        "response_format": {"type": "json_object"},
        "n": 2,
        "priority": 1,
        "webhook": "https://example.com/",
        "generationConfig": {},
        "callbackUrl": "https://example.com/",
        "reasoning_effort": null,
    });
    insta::assert_snapshot!(validation_errors(&body), @r#"
    body.tools value_error: Longshore has no field of this name beside params. Put tools in params.
    body.temperature value_error: Longshore has no field of this name beside params. Put temperature in params.
    body.toolChoice value_error: Longshore has no field of this name beside params. Put tool_choice in params.
    body.response_format value_error: Longshore has no field of this name. Use output_config.format: {"type": "json_schema", "schema": {…}}. Put it in params.
    body.n value_error: Longshore has no field of this name. Leave it out, and load the request as often as you need answers.
    body.priority value_error: Longshore has no field of this name. Leave it out. Use deadline_seconds or deadline_at, beside params: Longshore chooses the way.
    body.webhook value_error: Longshore has no field of this name. Leave it out. The answer is sent to callback_url, beside params.
    body.generationConfig value_error: Longshore has no field of this name. Write its fields into params: max_tokens, temperature, top_p, top_k, stop_sequences, thinking, output_config.
    body.callbackUrl value_error: Longshore has no field of this name. Use callback_url.
    "#);
}

#[test]
fn a_field_is_refused_in_every_spelling() {
    let body = chat(json!({
        "responseJsonSchema": {},
        "response_json_schema": {},
        "imageConfig": {},
        "image_config": {},
        "includeThoughts": true,
        "thinkingBudget": 5,
        "toolChoice": {"type": "any"},
        "stopSequences": ["END"],
        "messages": [
            {"role": "assistant", "content": "", "toolCalls": []},
            {"role": "user", "content": [
                {"type": "text", "text": "a", "cacheControl": {"type": "ephemeral"}},
            ]},
        ],
        "tools": [{"name": "t", "input_schema": schema(), "inputSchema": {}}],
    }));
    insta::assert_snapshot!(validation_errors(&body), @r#"
    body.params.messages.0.toolCalls value_error: Longshore has no field of this name. Write each call as a block of content: {"type": "tool_use", "id": …, "name": …, "input": {…}}.
    body.params.messages.1.content.0.cacheControl value_error: Longshore has no field of this name. Use cache_control.
    body.params.responseJsonSchema value_error: Longshore has no field of this name. Use output_config.format: {"type": "json_schema", "schema": {…}}.
    body.params.response_json_schema value_error: Longshore has no field of this name. Use output_config.format: {"type": "json_schema", "schema": {…}}.
    body.params.imageConfig value_error: Longshore has no field of this name. Leave it out: answers are text and calls of tools.
    body.params.image_config value_error: Longshore has no field of this name. Leave it out: answers are text and calls of tools.
    body.params.includeThoughts value_error: Longshore has no field of this name. Use thinking.display: summarized or omitted.
    body.params.thinkingBudget value_error: Longshore has no field of this name. Use thinking: {"type": "adaptive"}, enabled with budget_tokens, or disabled.
    body.params.toolChoice value_error: Longshore has no field of this name. Use tool_choice.
    body.params.stopSequences value_error: Longshore has no field of this name. Use stop_sequences.
    body.params.tools.0.inputSchema value_error: Longshore has no field of this name. Use input_schema.
    "#);
}

#[test]
fn a_field_that_is_null_is_not_there() {
    let body = r#"{"x":null,"params":{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"a","tool_calls":null}],"stop":null,"tools":null,"tool_choice":null,"output_config":null,"thinking":null,"cache_control":null,"seed":null,"provider_options":null}}"#;
    let load = parse_load(body.as_bytes(), &RULES).unwrap();
    assert_eq!(load.warnings, []);
    let written = serde_json::to_string(&load.params).unwrap();
    insta::assert_snapshot!(written, @r#"{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"a"}]}"#);
}

#[test]
fn warnings_are_bounded() {
    let entries = (0..1000).map(|index| (format!("{index}{}", "é".repeat(200)), json!(1)));
    let load = accepted(&chat(Value::Object(entries.collect())));
    assert_eq!(load.warnings.len(), 20);
    let longest = load.warnings.iter().map(|it| it.field.chars().count());
    assert_eq!(longest.max(), Some("params.".len() + 100));
}
