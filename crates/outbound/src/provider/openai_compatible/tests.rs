//! Requests and responses of the `OpenAI` API.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{ApiDialect, parse_response, request_body};
use crate::provider::BatchItem;
use crate::provider::fixtures::{
    FixtureMedia, chat_with_file, completion_json, describe, embedding, full_chat, item, key,
};
use crate::provider::media::NoMedia;

fn encoded_request(item: &BatchItem, dialect: ApiDialect) -> String {
    request_body(&item.params, "theirs", &FixtureMedia, dialect).map_or_else(
        |unsupported| format!("unsupported: {unsupported}"),
        |body| body.to_string(),
    )
}

fn described_response(body: &Value) -> String {
    describe(&parse_response(&body.to_string(), key(), "ours"))
}

#[test]
fn a_chat_keeps_every_parameter_that_there_is() {
    insta::assert_snapshot!(encoded_request(&full_chat(), ApiDialect::OpenAi), @r#"{"model":"theirs","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi\n\u0000\"é\""},{"role":"assistant","content":"Yes?"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}],"max_completion_tokens":50,"temperature":0.7,"top_p":0.9,"stop":["END","\n"]}"#);
    insta::assert_snapshot!(encoded_request(&full_chat(), ApiDialect::SelfHosted), @r#"{"model":"theirs","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi\n\u0000\"é\""},{"role":"assistant","content":"Yes?"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}],"max_tokens":50,"temperature":0.7,"top_p":0.9,"top_k":40,"stop":["END","\n"]}"#);
}

#[test]
fn parameters_that_were_not_given_are_not_sent() {
    let params =
        json!({"model": "ours", "max_tokens": 5, "messages": [{"role": "user", "content": "Hi"}]});
    insta::assert_snapshot!(encoded_request(&item(params), ApiDialect::OpenAi), @r#"{"model":"theirs","messages":[{"role":"user","content":"Hi"}],"max_completion_tokens":5}"#);
}

#[test]
fn an_embedding_is_of_one_text_or_of_many() {
    insta::assert_snapshot!(encoded_request(&embedding(&json!("a")), ApiDialect::OpenAi), @r#"{"model":"theirs","input":"a","encoding_format":"float"}"#);
    insta::assert_snapshot!(encoded_request(&embedding(&json!(["a", "b"])), ApiDialect::SelfHosted), @r#"{"model":"theirs","input":["a","b"],"encoding_format":"float"}"#);
}

#[test]
fn files_are_given_as_each_can_take_them() {
    let mut rows = String::new();
    for (kind, file) in [
        ("image", "image"),
        ("document", "pdf"),
        ("document", "csv"),
        ("video", "video"),
        ("image", "gone"),
    ] {
        for dialect in [ApiDialect::OpenAi, ApiDialect::SelfHosted] {
            let encoded = encoded_request(&chat_with_file(kind, file), dialect);
            let content = serde_json::from_str::<Value>(&encoded).map_or(encoded, |body| {
                body["messages"][0]["content"][0].to_string()
            });
            writeln!(rows, "{file} {dialect:?}: {content}").unwrap();
        }
    }
    insta::assert_snapshot!(rows, @r#"
    image OpenAi: {"type":"image_url","image_url":{"url":"https://files.example/image?signature=1"}}
    image SelfHosted: {"type":"image_url","image_url":{"url":"https://files.example/image?signature=1"}}
    pdf OpenAi: {"type":"file","file":{"filename":"pdf.pdf","file_data":"data:application/pdf;base64,cGRm"}}
    pdf SelfHosted: unsupported: the model does not support PDF documents
    csv OpenAi: {"type":"text","text":"a,b\n1,2"}
    csv SelfHosted: {"type":"text","text":"a,b\n1,2"}
    video OpenAi: unsupported: the model does not support video
    video SelfHosted: {"type":"video_url","video_url":{"url":"https://files.example/video?signature=1"}}
    gone OpenAi: unsupported: file gone no longer exists
    gone SelfHosted: unsupported: file gone no longer exists
    "#);
    let unsupported = request_body(
        &chat_with_file("image", "image").params,
        "theirs",
        &NoMedia,
        ApiDialect::SelfHosted,
    );
    assert!(unsupported.is_err());
}

#[test]
fn an_answer_becomes_our_completion() {
    let body = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "theirs-2026",
        "choices": [{
            "index": 0, "logprobs": null, "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Hello.", "refusal": null},
        }],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    });
    let end = parse_response(&body.to_string(), key(), "ours");
    insta::assert_snapshot!(completion_json(end), @r#"{"id":"msg_019b76daa80070008070000000000001","type":"message","role":"assistant","content":[{"type":"text","text":"Hello."}],"model":"ours","stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":5}}"#);
    let body = json!({
        "object": "list", "model": "theirs", "usage": {"prompt_tokens": 3, "total_tokens": 3},
        "data": [
            {"object": "embedding", "index": 1, "embedding": [0.5, -1]},
            {"object": "embedding", "index": 0, "embedding": [0.25, 1]},
        ],
    });
    let end = parse_response(&body.to_string(), key(), "ours");
    insta::assert_snapshot!(completion_json(end), @r#"{"id":"emb_019b76daa80070008070000000000001","type":"embedding","model":"ours","embeddings":[[0.25,1.0],[0.5,-1.0]],"usage":{"input_tokens":3,"output_tokens":0}}"#);
}

#[test]
fn every_reason_to_stop_has_its_name() {
    let mut rows = String::new();
    for (finish, text, extra) in [
        (json!("stop"), json!("t"), json!({})),
        (json!("stop"), json!("t"), json!({"stop_reason": null})),
        (json!("stop"), json!("t"), json!({"stop_reason": "END"})),
        (json!("stop"), json!("t"), json!({"stop_reason": 151_645})),
        (json!("stop"), json!("t"), json!({"matched_stop": "END"})),
        (json!("stop"), json!("t"), json!({"matched_stop": 151_645})),
        (json!("length"), json!("t"), json!({})),
        (json!("length"), Value::Null, json!({})),
        (json!("content_filter"), json!("t"), json!({})),
        (json!("content_filter"), Value::Null, json!({})),
        (json!("tool_calls"), Value::Null, json!({})),
        (json!("function_call"), Value::Null, json!({})),
        (json!("news"), json!("t"), json!({})),
        (Value::Null, json!("t"), json!({})),
    ] {
        let mut choice = json!({"message": {"content": text}, "finish_reason": finish});
        choice
            .as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        let usage = json!({"prompt_tokens": 1, "completion_tokens": 2});
        let described = described_response(&json!({"choices": [choice], "usage": usage}));
        writeln!(rows, "{finish} {text} {extra}: {described}").unwrap();
    }
    insta::assert_snapshot!(rows, @r#"
    "stop" "t" {}: "t", EndTurn, 1 in, 2 out
    "stop" "t" {"stop_reason":null}: "t", EndTurn, 1 in, 2 out
    "stop" "t" {"stop_reason":"END"}: "t", StopSequence, 1 in, 2 out
    "stop" "t" {"stop_reason":151645}: "t", EndTurn, 1 in, 2 out
    "stop" "t" {"matched_stop":"END"}: "t", StopSequence, 1 in, 2 out
    "stop" "t" {"matched_stop":151645}: "t", EndTurn, 1 in, 2 out
    "length" "t" {}: "t", MaxTokens, 1 in, 2 out
    "length" null {}: "", MaxTokens, 1 in, 2 out
    "content_filter" "t" {}: "t", EndTurn, 1 in, 2 out
    "content_filter" null {}: failed: content_blocked: blocked by provider: content_filter
    "tool_calls" null {}: failed: unsupported_stop: the model stopped for an unsupported feature: tool_calls
    "function_call" null {}: failed: unsupported_stop: the model stopped for an unsupported feature: function_call
    "news" "t" {}: "t", EndTurn, 1 in, 2 out
    null "t" {}: "t", EndTurn, 1 in, 2 out
    "#);
}

#[test]
fn a_refusal_is_an_answer() {
    let message = json!({"role": "assistant", "content": null, "refusal": "No."});
    let body = json!({"choices": [{"message": message, "finish_reason": "stop"}]});
    insta::assert_snapshot!(described_response(&body), @r#""No.", EndTurn, usage unknown"#);
}

#[test]
fn usage_that_is_missing_or_absurd_is_not_known() {
    let choice = json!({"message": {"content": "t"}, "finish_reason": "stop"});
    for usage in [
        Value::Null,
        json!({}),
        json!("many"),
        json!({"prompt_tokens": 1}),
        json!({"prompt_tokens": -1, "completion_tokens": 2}),
        json!({"prompt_tokens": 1.5, "completion_tokens": 2}),
        json!({"prompt_tokens": 9_000_000_000_000_u64, "completion_tokens": 2}),
    ] {
        let described = described_response(&json!({"choices": [choice], "usage": usage}));
        assert_eq!(described, "\"t\", EndTurn, usage unknown", "{usage}");
    }
}

#[test]
fn an_unreadable_response_is_retried() {
    for body in [
        "",
        "{}",
        "[]",
        "null",
        r#"{"choices":[]}"#,
        r#"{"choices":[{}]}"#,
    ] {
        assert_eq!(
            describe(&parse_response(body, key(), "ours")),
            "retry: the response cannot be parsed",
            "{body}"
        );
    }
}
