//! The validation of a load, field by field.

use domain::params::content::MessageContent;
use serde_json::{Value, json};

use super::*;

pub(super) const RULES: LoadRules = LoadRules {
    schemes: AllowedSchemes::HttpAndHttps,
    allows_listeners: true,
    max_messages: 1000,
    max_references: 100,
    max_stop_sequences: 16,
};

/// A valid chat with changed `params`. A null removes the field.
pub(super) fn chat(changes: Value) -> Value {
    let mut params = json!({
        "model": "svc-mock",
        "max_tokens": 64,
        "messages": [{"role": "user", "content": "Hello"}],
    });
    let (Value::Object(params), Value::Object(changes)) = (&mut params, changes) else {
        panic!("not objects")
    };
    params.extend(changes);
    params.retain(|_, value| !value.is_null());
    json!({ "params": params })
}

pub(super) fn message(content: &Value) -> Value {
    chat(json!({"messages": [{"role": "user", "content": content}]}))
}

pub(super) fn accepted(body: &Value) -> ValidLoad {
    match parse_load(body.to_string().as_bytes(), &RULES) {
        Ok(load) => load,
        Err(problem) => panic!("{problem:?}"),
    }
}

fn rejection(body: &[u8]) -> (u16, Value) {
    let problem = parse_load(body, &RULES).unwrap_err();
    let status = problem.status().as_u16();
    (
        status,
        serde_json::to_value(problem.into_body()).unwrap()["detail"].take(),
    )
}

/// One line per error: location, type, text.
pub(super) fn validation_errors(body: &Value) -> String {
    let (status, detail) = rejection(body.to_string().as_bytes());
    assert_eq!(status, 422);
    let faults = detail.as_array().unwrap().iter().map(|fault| {
        let steps = fault["loc"].as_array().unwrap().iter();
        let loc: Vec<String> = steps
            .map(|step| step.to_string().trim_matches('"').to_owned())
            .collect();
        let text = |key: &str| fault[key].as_str().unwrap().to_owned();
        format!("{} {}: {}", loc.join("."), text("type"), text("msg"))
    });
    faults.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_parameter_is_read() {
    let all = json!({
        "model": "m",
        "max_tokens": 64,
        "messages": [
            {"role": "user", "content": "a\u{0}b"},
            {"role": "assistant", "content": [
                {"type": "text", "text": "Привет"},
                {"type": "image", "source": {"file_id": "f1"}},
                {"type": "document", "source": {"file_id": "f2"}},
                {"type": "video", "source": {"file_id": "f3"}},
            ]},
        ],
        "system": "You are a docker.",
        "temperature": 0.5,
        "top_p": 0.25,
        "top_k": -1,
        "stop_sequences": ["END"],
    });
    let body = json!({"params": all, "callback_url": "http://example.com/x", "metadata": {"a": 1}});
    let load = accepted(&body);
    assert_eq!(load.warnings, []);
    assert_eq!(serde_json::to_value(&load.params).unwrap(), all);
    assert_eq!(load.callback.unwrap().as_str(), "http://example.com/x");
    assert_eq!(load.metadata.unwrap(), r#"{"a":1}"#);
}

#[test]
fn null_is_absent_and_the_unknown_is_ignored_with_a_warning() {
    let body = r#"{"metadata":null,"callback_url":null,"unknown":[{"deep":1e999}],"params":{"messages":[{"role":"user","content":"a","name":5}],"input_text":null,"system":null,"temperature":null,"stop_sequences":null,"model":"m","max_tokens":1,"stream":true}}"#;
    let load = parse_load(body.as_bytes(), &RULES).unwrap();
    assert_eq!((load.callback, load.metadata), (None, None));
    let written = serde_json::to_string(&load.params).unwrap();
    insta::assert_snapshot!(written, @r#"{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"a"}]}"#);
    let fields = load.warnings.iter().map(|warning| warning.field.as_str());
    let fields: Vec<&str> = fields.collect();
    assert_eq!(
        fields,
        ["unknown", "params.messages.0.name", "params.stream"]
    );
}

#[test]
fn bounds_are_inside() {
    for bound in [json!(0), json!(0.0), json!(1), json!(1.0)] {
        accepted(&chat(json!({"temperature": bound, "top_p": bound})));
    }
    accepted(&chat(json!({"max_tokens": u32::MAX})));
    accepted(&chat(
        json!({"messages": vec![json!({"role": "user", "content": ""}); 1000]}),
    ));
    accepted(&chat(json!({"stop_sequences": vec!["x"; 16]})));
    let file = json!({"type": "image", "source": {"file_id": "f"}});
    accepted(&message(&json!(vec![file; 100])));
}

#[test]
fn h2_a_role_is_one_that_providers_know() {
    let speaking = |role: &str| chat(json!({"messages": [{"role": role, "content": ""}]}));
    for role in ["user", "assistant", "system", "developer"] {
        accepted(&speaking(role));
    }
    for role in [
        "",
        "r",
        "User",
        "user ",
        "tool",
        "check your plan and billing",
    ] {
        let (status, detail) = rejection(speaking(role).to_string().as_bytes());
        assert_eq!(status, 422, "{role}");
        assert_eq!(
            detail.to_string(),
            r#"[{"type":"value_error","loc":["body","params","messages",0,"role"],"msg":"Input should be user, assistant, system or developer"}]"#,
            "{role}"
        );
    }
}

#[test]
fn a_chat_without_max_tokens_has_the_documented_error() {
    let (status, detail) = rejection(chat(json!({"max_tokens": null})).to_string().as_bytes());
    assert_eq!(status, 422);
    insta::assert_snapshot!(detail, @r#"[{"type":"value_error","loc":["body","params"],"msg":"max_tokens is required for chat requests"}]"#);
}

#[test]
fn max_tokens_is_a_positive_integer() {
    insta::assert_snapshot!(validation_errors(&chat(json!({"max_tokens": 0}))), @"body.params.max_tokens greater_than: Input should be greater than 0");
    insta::assert_snapshot!(validation_errors(&chat(json!({"max_tokens": -1}))), @"body.params.max_tokens greater_than: Input should be greater than 0");
    insta::assert_snapshot!(validation_errors(&chat(json!({"max_tokens": 1.5}))), @"body.params.max_tokens int_type: Input should be an integer");
    insta::assert_snapshot!(validation_errors(&chat(json!({"max_tokens": "many"}))), @"body.params.max_tokens int_type: Input should be an integer");
    insta::assert_snapshot!(validation_errors(&chat(json!({"max_tokens": u64::MAX}))), @"body.params.max_tokens less_than_equal: Input should be at most 4294967295");
}

#[test]
fn an_embedding_takes_one_text_or_several_and_ignores_max_tokens() {
    for input_text in [json!("a"), json!(["a", "b"])] {
        let params = json!({"model": "e", "input_text": input_text, "max_tokens": "many"});
        let load = accepted(&json!({ "params": params }));
        let kept = json!({"model": "e", "input_text": input_text});
        assert_eq!(serde_json::to_value(load.params).unwrap(), kept);
    }
    for input_text in [
        json!(5),
        json!({}),
        json!(true),
        json!([]),
        json!(["a", null, 5]),
    ] {
        validation_errors(&json!({"params": {"model": "e", "input_text": input_text}}));
    }
}

#[test]
fn a_request_is_of_one_kind() {
    insta::assert_snapshot!(validation_errors(&chat(json!({"input_text": "a"}))), @"body.params value_error: messages and input_text cannot be combined");
    insta::assert_snapshot!(validation_errors(&json!({"params": {"model": "m", "max_tokens": 5}})), @"body.params value_error: either messages or input_text is required");
}

#[test]
fn the_outer_shape_is_checked() {
    insta::assert_snapshot!(validation_errors(&json!({})), @"body.params missing: Field required");
    insta::assert_snapshot!(validation_errors(&json!({"params": null})), @"body.params missing: Field required");
    insta::assert_snapshot!(validation_errors(&json!({"params": []})), @"body.params object_type: Input should be an object");
    insta::assert_snapshot!(validation_errors(&json!(["hello"])), @"body object_type: Input should be an object");
    insta::assert_snapshot!(validation_errors(&json!(null)), @"body object_type: Input should be an object");
    insta::assert_snapshot!(validation_errors(&json!({"params": {}})), @"
    body.params.model missing: Field required
    body.params value_error: either messages or input_text is required
    ");
}

#[test]
fn all_errors_are_reported_at_once() {
    let mut body = chat(json!({
        "model": 5,
        "max_tokens": null,
        "messages": [
            {"content": "no role"},
            {"role": "", "content": {}},
            null,
            {"role": "user", "content": ["not a block", {"text": "no type"}, {"type": "hologram"}]},
            {"role": "user", "content": [{"type": "text"}, {"type": "text", "text": 5, "source": 5}]},
            {"role": "user", "content": [{"type": "image"}, {"type": "video", "source": {}}]},
            {"role": "user", "content": [{"type": "document", "source": {"file_id": 5}}]},
            {"role": "user", "content": [{"type": "document", "source": "file", "text": 5}]},
            {"role": "user", "content": []},
        ],
        "system": {},
        "temperature": 2,
        "top_p": 1.1,
        "top_k": 1.5,
        "stop_sequences": ["a", 1, ""],
    }));
    body["callback_url"] = json!("ftp://example.com/");
    body["metadata"] = json!([]);
    insta::assert_snapshot!(validation_errors(&body), @"
    body.params.messages.0.role missing: Field required
    body.params.messages.1.role value_error: Input should be user, assistant, system or developer
    body.params.messages.1.content value_error: Input should be a string or an array of content blocks
    body.params.messages.2 object_type: Input should be an object
    body.params.messages.3.content.0 object_type: Input should be an object
    body.params.messages.3.content.1.type missing: Field required
    body.params.messages.3.content.2.type value_error: Input should be text, image, document, video, tool_use, tool_result, thinking or redacted_thinking
    body.params.messages.4.content.0.text missing: Field required
    body.params.messages.4.content.1.text string_type: Input should be a string
    body.params.messages.5.content.0.source missing: Field required
    body.params.messages.5.content.1.source.file_id missing: Field required
    body.params.messages.6.content.0.source.file_id string_type: Input should be a string
    body.params.messages.7.content.0.source object_type: Input should be an object
    body.params.messages.8.content too_short: Input should have at least one block
    body.params.stop_sequences.1 string_type: Input should be a string
    body.params.stop_sequences.2 string_too_short: Input should not be empty
    body.params.model string_type: Input should be a string
    body.params.system string_type: Input should be a string or an array of text blocks
    body.params.temperature value_error: Input should be between 0 and 1
    body.params.top_p value_error: Input should be between 0 and 1
    body.params.top_k int_type: Input should be an integer
    body.params value_error: max_tokens is required for chat requests
    body.callback_url value_error: callback_url must be an absolute http or https URL with a host
    body.metadata object_type: Input should be an object
    ");
}

#[test]
fn there_are_limits() {
    let many = chat(json!({"messages": vec![json!({"role": "user", "content": ""}); 1001]}));
    insta::assert_snapshot!(validation_errors(&many), @"body.params.messages too_long: Input should have at most 1000 messages");
    insta::assert_snapshot!(validation_errors(&chat(json!({"messages": []}))), @"body.params.messages too_short: Input should have at least one message");
    insta::assert_snapshot!(validation_errors(&chat(json!({"stop_sequences": vec!["x"; 17]}))), @"body.params.stop_sequences too_long: Input should have at most 16 stop sequences");
    let file = json!({"type": "image", "source": {"file_id": "f"}});
    insta::assert_snapshot!(validation_errors(&message(&json!(vec![file; 101]))), @"body.params.messages too_long: Input should reference at most 100 files");
    let mut tagged = chat(json!({}));
    tagged["metadata"] = json!({"a": "x".repeat(4088)});
    accepted(&tagged);
    tagged["metadata"] = json!({"a": "x".repeat(4089)});
    insta::assert_snapshot!(validation_errors(&tagged), @"body.metadata too_long: Input should be at most 4096 bytes of JSON");
}

#[test]
fn production_takes_https_callbacks_only() {
    let body = json!({"params": chat(json!({}))["params"], "callback_url": "http://example.com/"});
    let rules = LoadRules {
        schemes: AllowedSchemes::HttpsOnly,
        ..RULES
    };
    assert!(parse_load(body.to_string().as_bytes(), &RULES).is_ok());
    assert!(parse_load(body.to_string().as_bytes(), &rules).is_err());
}

#[test]
fn what_is_not_json_is_a_bad_request_with_the_place() {
    let table: [&[u8]; 9] = [
        b"",
        b"{",
        b"hello",
        b"{\"params\": }",
        b"\xff\xfe",
        b"{'a': 1}",
        b"{} {}",
        b"[1,]",
        b"{\"x\":\"\xff\"}",
    ];
    let details = table.map(|body| {
        let (status, detail) = rejection(body);
        assert_eq!(status, 400);
        detail.as_str().unwrap().to_owned()
    });
    insta::assert_snapshot!(details.join("\n"), @"
    The body is not JSON: EOF while parsing a value at line 1 column 0.
    The body is not JSON: EOF while parsing an object at line 1 column 1.
    The body is not JSON: expected value at line 1 column 1.
    The body is not JSON: expected value at line 1 column 12.
    The body is not valid UTF-8 at byte 0.
    The body is not JSON: key must be a string at line 1 column 2.
    The body is not JSON: trailing characters at line 1 column 4.
    The body is not JSON: expected value at line 1 column 4.
    The body is not valid UTF-8 at byte 6.
    ");
}

#[test]
fn json_that_no_text_or_number_can_hold_is_a_validation_error() {
    for body in [
        r#"{"params":{"model":"\ud800"}}"#,
        r#"{"params":{"top_k":1e999}}"#,
    ] {
        assert_eq!(rejection(body.as_bytes()).0, 422);
    }
    // Values that are not read do not matter.
    let ignored =
        r#"{"params":{"model":"m","input_text":"a"},"x":"\ud800","metadata":{"a":1e999}}"#;
    assert_eq!(
        parse_load(ignored.as_bytes(), &RULES)
            .unwrap()
            .metadata
            .unwrap(),
        r#"{"a":1e999}"#
    );
}

#[test]
fn deep_nesting_is_no_danger() {
    let deep = 1_000_000;
    let (open, close) = ("[".repeat(deep), "]".repeat(deep));
    for field in [
        "model",
        "messages",
        "temperature",
        "stop_sequences",
        "input_text",
        "system",
        "tools",
        "tool_choice",
        "output_config",
        "thinking",
        "cache_control",
        "provider_options",
        "unknown",
    ] {
        let body = format!(r#"{{"params":{{"{field}":{open}{close}}}}}"#);
        assert_eq!(rejection(body.as_bytes()).0, 422, "{field}");
    }
    assert_eq!(rejection(open.as_bytes()).0, 400);
    assert_eq!(rejection(format!("{open}{close}").as_bytes()).0, 422);
    assert_eq!(rejection("{\"a\":".repeat(deep).as_bytes()).0, 400);
}

#[test]
fn a_hostile_body_costs_little() {
    for field in [
        "messages",
        "stop_sequences",
        "input_text",
        "system",
        "tools",
    ] {
        for element in ["0", "{}", "\"\""] {
            let many = vec![element; 1_000_000].join(",");
            let body = format!(r#"{{"params":{{"model":"m","{field}":[{many}]}}}}"#);
            let found = match parse_load(body.as_bytes(), &RULES) {
                Ok(_) => 0,
                Err(problem) => serde_json::to_string(&problem.into_body()).unwrap().len(),
            };
            assert!(found < 20_000, "{field} {element} {found}");
        }
    }
}

#[test]
fn a_large_text_is_taken_whole() {
    let load = accepted(&message(&json!("x".repeat(9 << 20))));
    let Params::Chat(chat) = load.params else {
        panic!("not a chat")
    };
    assert!(
        matches!(&chat.messages[0].content, MessageContent::Text(text) if text.len() == 9 << 20)
    );
}
