//! Requests of a batch, field by field.

use std::fmt::Write as _;

use domain::features::{Features, PromptCaching, SamplingSupport, ThinkingSupport};
use domain::params::thinking::Effort;
use domain::route::{InferenceMode, Route};
use domain::tenant_hash::tenant_hash;
use serde_json::{Map, Value, json};

use crate::provider::BatchItem;
use crate::provider::anthropic::request_line;
use crate::provider::fixtures::{
    self, FixtureMedia, chat_with_file, chat_with_role, embedding, full_chat, item,
};

/// The fields of every request that a test does not print.
const USUAL_FIELDS: [&str; 4] = ["model", "max_tokens", "metadata", "messages"];

fn with_marks() -> Features {
    Features {
        caching: PromptCaching::Marks,
        ..Features::plain()
    }
}

fn encoded(item: &BatchItem, features: Features) -> String {
    let route = Route {
        features,
        ..Route::plain("claude", "theirs", InferenceMode::Batch)
    };
    let line = request_line::encode(item, &route, &FixtureMedia).map_or_else(
        |unsupported| format!("unsupported: {unsupported}"),
        fixtures::line_text,
    );
    line.replace(&tenant_hash(item.organization, "theirs"), "TENANT")
}

fn encoded_line(item: &BatchItem) -> String {
    encoded(item, Features::plain())
}

fn chat(fields: &Value) -> BatchItem {
    let mut params = json!({
        "model": "ours", "max_tokens": 2000, "messages": [{"role": "user", "content": "Hi"}],
    });
    let params_fields = params.as_object_mut().unwrap();
    params_fields.extend(fields.as_object().unwrap().clone());
    item(params)
}

fn encoded_params(fields: &Value, features: Features) -> Map<String, Value> {
    let line = encoded(&chat(fields), features);
    let line: Value = serde_json::from_str(&line).unwrap();
    line["params"].as_object().unwrap().clone()
}

/// What the fields become.
fn encoded_fields(fields: &Value, features: Features) -> String {
    let params = encoded_params(fields, features).into_iter();
    let other: Map<String, Value> = params
        .filter(|(name, _)| !USUAL_FIELDS.contains(&name.as_str()))
        .collect();
    Value::Object(other).to_string()
}

fn encoded_messages(messages: &Value, features: Features) -> String {
    let params = encoded_params(&json!({"messages": messages}), features);
    let messages = params["messages"].as_array().unwrap();
    let lines: Vec<String> = messages.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

#[test]
fn a_request_keeps_every_parameter_that_the_provider_takes() {
    insta::assert_snapshot!(encoded_line(&full_chat()), @r#"{"custom_id":"crg_019b76daa80070008070000000000001-a2","params":{"model":"theirs","max_tokens":50,"metadata":{"user_id":"TENANT"},"system":"Be brief.","messages":[{"role":"user","content":"Hi\n\u0000\"é\""},{"role":"assistant","content":"Yes?"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}],"temperature":0.7,"top_k":40,"stop_sequences":["END","\n"]}}"#);
    assert_eq!(encoded_line(&full_chat()), encoded_line(&full_chat()));
}

#[test]
fn files_are_given_by_their_address_and_texts_as_they_are() {
    let mut rows = String::new();
    for (kind, file) in [
        ("image", "image"),
        ("document", "pdf"),
        ("document", "csv"),
        ("video", "video"),
        ("image", "gone"),
    ] {
        let encoded = encoded_line(&chat_with_file(kind, file));
        let content = serde_json::from_str::<Value>(&encoded).map_or(encoded, |line| {
            line["params"]["messages"][0]["content"][0].to_string()
        });
        writeln!(rows, "{file}: {content}").unwrap();
    }
    insta::assert_snapshot!(rows, @r#"
    image: {"type":"image","source":{"type":"url","url":"https://files.example/image?signature=1"}}
    pdf: {"type":"document","source":{"type":"url","url":"https://files.example/pdf?signature=1"}}
    csv: {"type":"document","source":{"type":"text","media_type":"text/plain","data":"a,b\n1,2"}}
    video: unsupported: the model does not support video
    gone: unsupported: file gone no longer exists
    "#);
    // The store cannot sign a link that lives long enough.
    let encoded = encoded_line(&chat_with_file("image", "unlinked"));
    let source = r#"{"type":"base64","media_type":"image/png","data":"dW5saW5rZWQ="}"#;
    assert!(encoded.contains(source), "{encoded}");
}

#[test]
fn what_would_fail_hours_later_is_unsupported_now() {
    insta::assert_snapshot!(encoded_line(&chat_with_role("system")), @"unsupported: a message's role must be user or assistant");
    insta::assert_snapshot!(encoded_line(&embedding(&json!("a"))), @"unsupported: the provider does not offer embeddings");
}

#[test]
fn tools_and_their_choice_are_sent_as_they_are() {
    let schema = json!({"type": "object", "properties": {"b": {}, "a": {}}});
    let fields = json!({"tools": [
        {"name": "find", "description": "Finds.", "input_schema": schema, "strict": true, "cache_control": {"type": "ephemeral", "ttl": "1h"}},
        {"name": "stop", "input_schema": {"type": "object"}},
    ]});
    insta::assert_snapshot!(encoded_fields(&fields, with_marks()), @r#"{"tools":[{"name":"find","description":"Finds.","input_schema":{"type":"object","properties":{"b":{},"a":{}}},"strict":true,"cache_control":{"type":"ephemeral","ttl":"1h"}},{"name":"stop","input_schema":{"type":"object"}}]}"#);
    for choice in [
        json!({"type": "auto"}),
        json!({"type": "any", "disable_parallel_tool_use": true}),
        json!({"type": "tool", "name": "find"}),
        json!({"type": "none"}),
    ] {
        let fields = json!({"tool_choice": choice});
        let sent = encoded_fields(&fields, Features::plain());
        assert_eq!(sent, fields.to_string());
    }
}

#[test]
fn cache_marks_are_sent_where_the_model_takes_them() {
    let mark = json!({"type": "ephemeral"});
    let fields = json!({
        "system": [{"type": "text", "text": "a", "cache_control": mark}, {"type": "text", "text": "b"}],
        "cache_control": mark,
    });
    insta::assert_snapshot!(encoded_fields(&fields, with_marks()), @r#"{"system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"text","text":"b"}],"cache_control":{"type":"ephemeral"}}"#);
    insta::assert_snapshot!(encoded_fields(&fields, Features::plain()), @r#"{"system":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#);
    let source = json!({"file_id": "pdf"});
    let messages = json!([{"role": "user", "content": [
        {"type": "document", "source": source, "cache_control": mark},
        {"type": "text", "text": "t", "cache_control": mark},
    ]}]);
    insta::assert_snapshot!(encoded_messages(&messages, with_marks()), @r#"{"role":"user","content":[{"type":"document","source":{"type":"url","url":"https://files.example/pdf?signature=1"},"cache_control":{"type":"ephemeral"}},{"type":"text","text":"t","cache_control":{"type":"ephemeral"}}]}"#);
}

#[test]
fn the_schema_of_an_answer_has_closed_objects_and_no_name() {
    let format = json!({"type": "json_schema", "name": "answer", "schema": {"type": "object", "additionalProperties": false}});
    let fields = json!({"output_config": {"format": format, "effort": "low"}});
    insta::assert_snapshot!(encoded_fields(&fields, Features::plain()), @r#"{"output_config":{"format":{"type":"json_schema","schema":{"type":"object","additionalProperties":false}},"effort":"low"}}"#);
    let open = json!({"type": "json_schema", "schema": {"type": "object", "properties": {}}});
    let fields = json!({"output_config": {"format": open}});
    let params = encoded_params(&fields, Features::plain());
    let schema = &params["output_config"]["format"]["schema"];
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn the_default_effort_is_sent_unless_the_caller_says_more() {
    let features = || Features {
        thinking: ThinkingSupport {
            default_effort: Some(Effort::Low),
            ..ThinkingSupport::none()
        },
        ..Features::plain()
    };
    let mut rows = String::new();
    for fields in [
        json!({}),
        json!({"output_config": {"effort": "max"}}),
        json!({"thinking": {"type": "adaptive", "display": "summarized"}}),
        json!({"thinking": {"type": "enabled", "budget_tokens": 1024}}),
        json!({"thinking": {"type": "disabled"}}),
    ] {
        writeln!(rows, "{}", encoded_fields(&fields, features())).unwrap();
    }
    insta::assert_snapshot!(rows, @r#"
    {"output_config":{"effort":"low"}}
    {"output_config":{"effort":"max"}}
    {"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"low"}}
    {"thinking":{"type":"enabled","budget_tokens":1024},"output_config":{"effort":"low"}}
    {"thinking":{"type":"disabled"}}
    "#);
}

#[test]
fn sampling_is_sent_as_far_as_the_model_takes_it() {
    let all = json!({"temperature": 0.5, "top_p": 0.9, "top_k": 4});
    let adaptive = json!({"type": "adaptive"});
    let off = json!({"type": "disabled"});
    let mut rows = String::new();
    for (fields, sampling) in [
        (all.clone(), SamplingSupport::Pass),
        (json!({"top_p": 0.9, "top_k": 4}), SamplingSupport::Pass),
        (
            json!({"temperature": 0.5, "top_p": 0.9, "top_k": 4, "thinking": adaptive}),
            SamplingSupport::Pass,
        ),
        (
            json!({"top_p": 0.95, "thinking": adaptive}),
            SamplingSupport::Pass,
        ),
        (
            json!({"temperature": 0.5, "thinking": off}),
            SamplingSupport::Pass,
        ),
        (all.clone(), SamplingSupport::Drop),
        (all, SamplingSupport::Refuse),
    ] {
        let features = Features {
            sampling,
            ..Features::plain()
        };
        let sent = encoded_fields(&fields, features);
        writeln!(rows, "{sampling:?}: {sent}").unwrap();
    }
    insta::assert_snapshot!(rows, @r#"
    Pass: {"temperature":0.5,"top_k":4}
    Pass: {"top_p":0.9,"top_k":4}
    Pass: {"thinking":{"type":"adaptive"}}
    Pass: {"thinking":{"type":"adaptive"},"top_p":0.95}
    Pass: {"thinking":{"type":"disabled"},"temperature":0.5}
    Drop: {}
    Refuse: {}
    "#);
}

#[test]
fn limits_of_the_model_change_what_is_sent() {
    let features = || Features {
        max_stop_sequences: 1,
        min_output: 4000,
        ..Features::plain()
    };
    let one = json!({"stop_sequences": ["a"]});
    assert_eq!(encoded_fields(&one, features()), one.to_string());
    let two = json!({"stop_sequences": ["a", "b"]});
    assert_eq!(encoded_fields(&two, features()), "{}");
    assert_eq!(encoded_params(&two, features())["max_tokens"], 4000);
}

#[test]
fn options_of_the_provider_never_replace_a_field() {
    let fields = json!({"provider_options": {
        "anthropic": {"extra": 1, "model": "other", "metadata": {}},
        "gemini": {"other": 2},
    }});
    let params = encoded_params(&fields, Features::plain());
    assert_eq!(params["model"], "theirs");
    assert_eq!(params["metadata"], json!({"user_id": "TENANT"}));
    insta::assert_snapshot!(encoded_fields(&fields, Features::plain()), @r#"{"extra":1}"#);
}

#[test]
fn blank_text_is_left_out() {
    let blank = json!({"type": "text", "text": ""});
    let messages = json!([
        {"role": "user", "content": [blank, {"type": "text", "text": "Hi"}]},
        {"role": "assistant", "content": " "},
        {"role": "assistant", "content": [
            {"type": "text", "text": "\n"},
            {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": [blank]},
        ]},
        {"role": "assistant", "content": [blank]},
    ]);
    insta::assert_snapshot!(encoded_messages(&messages, Features::plain()), @r#"
    {"role":"user","content":[{"type":"text","text":"Hi"}]}
    {"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"find","input":{}}]}
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[]}]}
    "#);
    for system in [json!(""), json!([blank])] {
        let fields = json!({"system": system});
        assert_eq!(encoded_fields(&fields, Features::plain()), "{}");
    }
    let partly = json!({"system": [blank, {"type": "text", "text": "Be brief."}]});
    insta::assert_snapshot!(encoded_fields(&partly, Features::plain()), @r#"{"system":[{"type":"text","text":"Be brief."}]}"#);
}

#[test]
fn a_blank_message_of_the_user_is_unsupported() {
    let of = |role: &str, content: Value| {
        let messages = json!([{"role": role, "content": content}]);
        encoded_line(&chat(&json!({"messages": messages})))
    };
    for content in [json!(""), json!([]), json!([{"type": "text", "text": " "}])] {
        assert_eq!(
            of("user", content),
            "unsupported: a message of the user is blank"
        );
    }
    insta::assert_snapshot!(of("assistant", json!("")), @"unsupported: all messages are blank");
}

#[test]
fn a_loop_of_tools_keeps_thoughts_of_anthropic_and_drops_others() {
    let messages = json!([
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "v1.anthropic.c2ln"},
            {"type": "thinking", "thinking": "hm", "signature": "v1.gemini.c2ln"},
            {"type": "redacted_thinking", "data": "v1.anthropic.ZGF0YQ"},
            {"type": "redacted_thinking", "data": "from Anthropic"},
            {"type": "redacted_thinking", "data": "v1.openai.ZGF0YQ"},
            {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {"b": 1, "a": 2}},
            {"type": "tool_use", "id": "toolu_2", "name": "find", "input": {}},
            {"type": "tool_use", "id": "toolu_3", "name": "find", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "found"},
            {"type": "tool_result", "tool_use_id": "toolu_2", "is_error": true, "content": [{"type": "text", "text": "broken"}, {"type": "image", "source": {"file_id": "image"}}]},
            {"type": "tool_result", "tool_use_id": "toolu_3"},
        ]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "v1.openai.c2ln"}]},
        {"role": "user", "content": "So?"},
    ]);
    insta::assert_snapshot!(encoded_messages(&messages, Features::plain()), @r#"
    {"role":"user","content":"Hi"}
    {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"redacted_thinking","data":"data"},{"type":"redacted_thinking","data":"from Anthropic"},{"type":"tool_use","id":"toolu_1","name":"find","input":{"b":1,"a":2}},{"type":"tool_use","id":"toolu_2","name":"find","input":{}},{"type":"tool_use","id":"toolu_3","name":"find","input":{}}]}
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"found"},{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"broken"},{"type":"image","source":{"type":"url","url":"https://files.example/image?signature=1"}}],"is_error":true},{"type":"tool_result","tool_use_id":"toolu_3"}]}
    {"role":"user","content":"So?"}
    "#);
}
