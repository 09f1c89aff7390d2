//! Conversations with tools, thoughts and files.

use std::fmt::Write as _;

use domain::route::ChatApi;
use domain::thinking_signature::{SignatureKind, ThinkingSignature};
use serde_json::{Value, json};

use super::{WAYS, body, capable_route, changes, changes_by};
use crate::provider::fixtures::{FixtureMedia, chat_with_file, route};
use crate::provider::media::NoMedia;
use crate::provider::openai_compatible::{ServerDialect, request_body};

fn conversation(answer: &Value, next: &Value) -> Value {
    json!({"messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": answer},
        {"role": "user", "content": next},
    ]})
}

fn thought(kind: SignatureKind) -> Value {
    let signature = ThinkingSignature {
        item: Some("rs_1".to_owned()),
        ..ThinkingSignature::new(kind, "gAAA")
    };
    json!({"type": "thinking", "thinking": "T", "signature": signature.to_string()})
}

fn call() -> Value {
    json!({"type": "tool_use", "id": "call_1", "name": "add", "input": {}})
}

#[test]
fn calls_and_results_of_tools_keep_their_order() {
    let answer = json!([
        thought(SignatureKind::OpenAi),
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "call_1", "name": "add", "input": {"b": 1, "a": 2}},
        {"type": "tool_use", "id": "call_2", "name": "sub", "input": {}},
    ]);
    let texts = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
    let next = json!([
        {"type": "tool_result", "tool_use_id": "call_1", "content": "3"},
        {"type": "tool_result", "tool_use_id": "call_2", "content": texts, "is_error": true},
        {"type": "text", "text": "Go on."},
    ]);
    insta::assert_snapshot!(changes(&conversation(&answer, &next)), @r#"
    chat: {"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"text","text":"Let me see."}],"tool_calls":[{"id":"call_1","type":"function","function":{"name":"add","arguments":"{\"b\":1,\"a\":2}"}},{"id":"call_2","type":"function","function":{"name":"sub","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":"3"},{"role":"tool","tool_call_id":"call_2","content":"Error: a\nb"},{"role":"user","content":[{"type":"text","text":"Go on."}]}]}
    responses: {"input":[{"type":"message","role":"user","content":"Hi"},{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"T"}],"encrypted_content":"gAAA"},{"type":"message","role":"assistant","content":"Let me see."},{"type":"function_call","call_id":"call_1","name":"add","arguments":"{\"b\":1,\"a\":2}"},{"type":"function_call","call_id":"call_2","name":"sub","arguments":"{}"},{"type":"function_call_output","call_id":"call_1","output":"3"},{"type":"function_call_output","call_id":"call_2","output":"Error: a\nb"},{"type":"message","role":"user","content":[{"type":"input_text","text":"Go on."}]}]}
    server: {"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"text","text":"Let me see."}],"tool_calls":[{"id":"call_1","type":"function","function":{"name":"add","arguments":"{\"b\":1,\"a\":2}"}},{"id":"call_2","type":"function","function":{"name":"sub","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":"3"},{"role":"tool","tool_call_id":"call_2","content":"Error: a\nb"},{"role":"user","content":[{"type":"text","text":"Go on."}]}]}
    "#);
}

#[test]
fn each_text_of_the_assistant_is_an_item_of_its_own() {
    let answer = json!([
        {"type": "text", "text": "First."},
        thought(SignatureKind::OpenAi),
        {"type": "text", "text": "Then."},
        call(),
        {"type": "text", "text": "Done.", "cache_control": {"type": "ephemeral"}},
    ]);
    let next = json!([{"type": "tool_result", "tool_use_id": "call_1"}]);
    let fields = conversation(&answer, &next);
    let route = capable_route(ChatApi::Responses);
    let body = body(&fields, &route, ServerDialect::OpenAi).unwrap();
    let items = body.get("input").and_then(Value::as_array).unwrap();
    let items: Vec<String> = items.iter().map(Value::to_string).collect();
    insta::assert_snapshot!(items.join("\n"), @r#"
    {"type":"message","role":"user","content":"Hi"}
    {"type":"message","role":"assistant","content":"First."}
    {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"T"}],"encrypted_content":"gAAA"}
    {"type":"message","role":"assistant","content":"Then."}
    {"type":"function_call","call_id":"call_1","name":"add","arguments":"{}"}
    {"type":"message","role":"assistant","content":"Done."}
    {"type":"function_call_output","call_id":"call_1","output":""}
    "#);
}

#[test]
fn thoughts_of_another_provider_are_left_out() {
    let answer = json!([
        thought(SignatureKind::Anthropic),
        {"type": "redacted_thinking", "data": "x"},
        call(),
    ]);
    let next = json!([{"type": "tool_result", "tool_use_id": "call_1"}]);
    insta::assert_snapshot!(changes(&conversation(&answer, &next)), @r#"
    chat: {"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"add","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":""}]}
    responses: {"input":[{"type":"message","role":"user","content":"Hi"},{"type":"function_call","call_id":"call_1","name":"add","arguments":"{}"},{"type":"function_call_output","call_id":"call_1","output":""}]}
    server: {"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"add","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":""}]}
    "#);
}

#[test]
fn thoughts_that_led_to_nothing_are_left_out() {
    let answer = json!([{"type": "text", "text": "No."}, thought(SignatureKind::OpenAi)]);
    insta::assert_snapshot!(changes(&conversation(&answer, &json!("Why?"))), @r#"
    chat: {"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"text","text":"No."}]},{"role":"user","content":"Why?"}]}
    responses: {"input":[{"type":"message","role":"user","content":"Hi"},{"type":"message","role":"assistant","content":"No."},{"type":"message","role":"user","content":"Why?"}]}
    server: {"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"text","text":"No."}]},{"role":"user","content":"Why?"}]}
    "#);
}

#[test]
fn a_result_may_contain_files_where_the_model_reads_them() {
    let image = json!([{"type": "image", "source": {"file_id": "image"}}]);
    let result = json!({
        "type": "tool_result", "tool_use_id": "call_1", "content": image, "is_error": true,
    });
    let fields = conversation(&json!([call()]), &json!([result]));
    insta::assert_snapshot!(changes(&fields), @r#"
    chat: {"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"add","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":[{"type":"text","text":"Error:"},{"type":"image_url","image_url":{"url":"https://files.example/image?signature=1"}}]}]}
    responses: {"input":[{"type":"message","role":"user","content":"Hi"},{"type":"function_call","call_id":"call_1","name":"add","arguments":"{}"},{"type":"function_call_output","call_id":"call_1","output":[{"type":"input_text","text":"Error:"},{"type":"input_image","image_url":"https://files.example/image?signature=1","detail":"auto"}]}]}
    server: {"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"add","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":[{"type":"text","text":"Error:"},{"type":"image_url","image_url":{"url":"https://files.example/image?signature=1"}}]}]}
    "#);
    let rows = changes_by(&fields, |mut route| {
        route.features.tool_result_files = false;
        route
    });
    let refusals = rows.matches("does not support files in results").count();
    assert_eq!(refusals, 2, "{rows}");
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
        let block = json!({"type": kind, "source": {"file_id": file}});
        let fields = json!({"messages": [{"role": "user", "content": [block]}]});
        for (name, api, dialect) in WAYS {
            let text = match body(&fields, &capable_route(api), dialect) {
                Ok(body) => {
                    let messages = body.get("messages").or(body.get("input")).unwrap();
                    messages[0]["content"][0].to_string()
                }
                Err(unsupported) => format!("unsupported: {unsupported}"),
            };
            writeln!(rows, "{file} {name}: {text}").unwrap();
        }
    }
    insta::assert_snapshot!(rows, @r#"
    image chat: {"type":"image_url","image_url":{"url":"https://files.example/image?signature=1"}}
    image responses: {"type":"input_image","image_url":"https://files.example/image?signature=1","detail":"auto"}
    image server: {"type":"image_url","image_url":{"url":"https://files.example/image?signature=1"}}
    pdf chat: {"type":"file","file":{"filename":"pdf.pdf","file_data":"data:application/pdf;base64,cGRm"}}
    pdf responses: {"type":"input_file","filename":"pdf.pdf","file_data":"data:application/pdf;base64,cGRm"}
    pdf server: unsupported: the model does not support PDF documents
    csv chat: {"type":"text","text":"a,b\n1,2"}
    csv responses: {"type":"input_text","text":"a,b\n1,2"}
    csv server: {"type":"text","text":"a,b\n1,2"}
    video chat: unsupported: the model does not support video
    video responses: unsupported: the model does not support video
    video server: {"type":"video_url","video_url":{"url":"https://files.example/video?signature=1"}}
    gone chat: unsupported: file gone no longer exists
    gone responses: unsupported: file gone no longer exists
    gone server: unsupported: file gone no longer exists
    "#);
    // The store cannot sign a link that lives long enough.
    let unlinked = chat_with_file("image", "unlinked");
    let body = request_body(
        &unlinked,
        &route(),
        &FixtureMedia,
        ServerDialect::SelfHosted,
    );
    let body = body.unwrap();
    let url = &body["messages"][0]["content"][0]["image_url"]["url"];
    assert_eq!(url, "data:image/png;base64,dW5saW5rZWQ=");
    let item = chat_with_file("image", "image");
    assert!(request_body(&item, &route(), &NoMedia, ServerDialect::SelfHosted).is_err());
    assert!(request_body(&item, &route(), &FixtureMedia, ServerDialect::SelfHosted).is_ok());
}
