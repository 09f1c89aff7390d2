//! Conversations with tools and thoughts.

use domain::features::{Features, ThinkingSupport};
use serde_json::{Value, json};

use super::encoded_request;

/// The contents, each in one line.
fn encoded_contents(messages: &Value, features: Features) -> String {
    let request = encoded_request(&json!({"messages": messages}), features);
    let Some(contents) = request["contents"].as_array() else {
        return request.to_string();
    };
    let lines: Vec<String> = contents.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

fn with_budgets() -> Features {
    Features {
        thinking: ThinkingSupport {
            budget: Some((0, 24_576)),
            ..ThinkingSupport::none()
        },
        ..Features::plain()
    }
}

#[test]
fn results_name_their_call_and_stand_in_the_order_of_the_calls() {
    let messages = json!([
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "v1.gemini."},
            {"type": "thinking", "thinking": "", "signature": "v1.gemini.YzJsbg"},
            {"type": "tool_use", "id": "call_1", "name": "find", "input": {"b": 1, "a": 2}},
            {"type": "tool_use", "id": "call_2", "name": "stop", "input": {}},
            {"type": "tool_use", "id": "call_3", "name": "find", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "call_2", "is_error": true, "content": "broken"},
            {"type": "tool_result", "tool_use_id": "call_3"},
            {"type": "tool_result", "tool_use_id": "call_1", "content": [
                {"type": "text", "text": "a"}, {"type": "image", "source": {"file_id": "image"}}, {"type": "document", "source": {"file_id": "csv"}}, {"type": "document", "source": {"file_id": "pdf"}},
            ]},
            {"type": "text", "text": "So?"},
        ]},
    ]);
    insta::assert_snapshot!(encoded_contents(&messages, Features::plain()), @r#"
    {"role":"model","parts":[{"functionCall":{"id":"call_1","name":"find","args":{"b":1,"a":2}},"thoughtSignature":"c2ln"},{"functionCall":{"id":"call_2","name":"stop","args":{}}},{"functionCall":{"id":"call_3","name":"find","args":{}}}]}
    {"role":"user","parts":[{"functionResponse":{"id":"call_1","name":"find","response":{"output":"a\na,b\n1,2"},"parts":[{"inlineData":{"mimeType":"image/png","data":"aW1hZ2U="}},{"inlineData":{"mimeType":"application/pdf","data":"cGRm"}}]}},{"functionResponse":{"id":"call_2","name":"stop","response":{"error":"broken"}}},{"functionResponse":{"id":"call_3","name":"find","response":{"output":""}}},{"text":"So?"}]}
    "#);
}

#[test]
fn a_call_without_a_signature_bypasses_the_check_where_there_is_one() {
    let messages = json!([
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "v1.anthropic.c2ln"},
            {"type": "redacted_thinking", "data": "v1.anthropic.c2ln"},
            {"type": "tool_use", "id": "call_1", "name": "find", "input": {}},
            {"type": "tool_use", "id": "call_2", "name": "find", "input": {}},
        ]},
    ]);
    insta::assert_snapshot!(encoded_contents(&messages, Features::plain()), @r#"{"role":"model","parts":[{"functionCall":{"id":"call_1","name":"find","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"call_2","name":"find","args":{}}}]}"#);
    insta::assert_snapshot!(encoded_contents(&messages, with_budgets()), @r#"{"role":"model","parts":[{"functionCall":{"id":"call_1","name":"find","args":{}}},{"functionCall":{"id":"call_2","name":"find","args":{}}}]}"#);
}

#[test]
fn a_signature_stands_on_the_part_after_it_or_on_an_empty_text() {
    let messages = json!([
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "", "signature": "v1.gemini.YzJsbg"},
            {"type": "text", "text": "a"},
            {"type": "thinking", "thinking": "", "signature": "v1.gemini.YzJsbg"},
        ]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "v1.openai.c2ln"}]},
    ]);
    insta::assert_snapshot!(encoded_contents(&messages, Features::plain()), @r#"{"role":"model","parts":[{"text":"a","thoughtSignature":"c2ln"},{"text":"","thoughtSignature":"c2ln"}]}"#);
}

#[test]
fn a_result_without_its_call_is_unsupported() {
    let result = |block: Value| json!([{"role": "user", "content": [block]}]);
    let unknown = result(json!({"type": "tool_result", "tool_use_id": "call_1"}));
    insta::assert_snapshot!(encoded_contents(&unknown, Features::plain()), @r#""unsupported: a tool result answers no tool call""#);
    let messages = json!([
        {"role": "assistant", "content": [{"type": "tool_use", "id": "call_1", "name": "find", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": [{"type": "video", "source": {"file_id": "video"}}]}]},
    ]);
    insta::assert_snapshot!(encoded_contents(&messages, Features::plain()), @r#""unsupported: a tool result may contain only text, images and documents""#);
}
