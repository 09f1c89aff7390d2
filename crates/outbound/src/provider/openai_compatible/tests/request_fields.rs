//! Each field of a request, as each way to ask for a chat sends it.

use std::fmt::Write as _;

use domain::features::SamplingSupport;
use domain::model::ModelKind;
use domain::params::thinking::Effort;
use domain::route::{ChatApi, Route};
use serde_json::{Value, json};

use super::{WAYS, body, capable_route, changes, changes_by};
use crate::provider::fixtures::{FixtureMedia, embedding, full_chat, item, route};
use crate::provider::openai_compatible::{ServerDialect, endpoint_path, request_body};

fn tools() -> Value {
    let properties = json!({"b": {"type": "integer"}, "a": {"type": "integer"}});
    let schema = json!({"type": "object", "properties": properties});
    json!([
        {"name": "add", "description": "Adds.", "input_schema": schema},
        {"name": "sub", "input_schema": {"type": "object"}, "strict": true},
    ])
}

fn encoded_request(params: &Value, dialect: ServerDialect) -> String {
    let body = request_body(&item(params.clone()), &route(), &FixtureMedia, dialect);
    Value::Object(body.unwrap()).to_string()
}

#[test]
fn a_plain_chat_keeps_every_parameter_that_there_is() {
    let encoded = |dialect| {
        let body = request_body(&full_chat(), &route(), &FixtureMedia, dialect);
        Value::Object(body.unwrap()).to_string()
    };
    insta::assert_snapshot!(encoded(ServerDialect::Compatible), @r#"{"model":"theirs","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi\n\u0000\"é\""},{"role":"assistant","content":"Yes?"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}],"max_completion_tokens":50,"temperature":0.7,"top_p":0.9,"stop":["END","\n"]}"#);
    insta::assert_snapshot!(encoded(ServerDialect::SelfHosted), @r#"{"model":"theirs","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi\n\u0000\"é\""},{"role":"assistant","content":"Yes?"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}],"max_tokens":50,"temperature":0.7,"top_p":0.9,"top_k":40,"stop":["END","\n"]}"#);
}

#[test]
fn only_openai_is_told_the_tenant_and_only_marked_prompts_are_cached() {
    let mut rows = String::new();
    for (name, api, dialect) in WAYS {
        let body = body(&json!({}), &capable_route(api), dialect).unwrap();
        writeln!(rows, "{name}: {}", Value::Object(body)).unwrap();
    }
    insta::assert_snapshot!(rows, @r#"
    chat: {"model":"theirs","messages":[{"role":"user","content":"Hi"}],"max_completion_tokens":5,"prompt_cache_options":{"mode":"explicit"},"prompt_cache_key":"48578e4c6b8f6aed94d45ceab778c3ff","safety_identifier":"48578e4c6b8f6aed94d45ceab778c3ff"}
    responses: {"model":"theirs","input":[{"type":"message","role":"user","content":"Hi"}],"max_output_tokens":5,"store":false,"prompt_cache_options":{"mode":"explicit"},"prompt_cache_key":"48578e4c6b8f6aed94d45ceab778c3ff","safety_identifier":"48578e4c6b8f6aed94d45ceab778c3ff"}
    server: {"model":"theirs","messages":[{"role":"user","content":"Hi"}],"max_tokens":5}
    "#);
    let route = capable_route(ChatApi::Completions);
    let azure = body(&json!({}), &route, ServerDialect::Compatible).unwrap();
    insta::assert_snapshot!(Value::Object(azure), @r#"{"model":"theirs","messages":[{"role":"user","content":"Hi"}],"max_completion_tokens":5,"prompt_cache_options":{"mode":"explicit"},"prompt_cache_key":"48578e4c6b8f6aed94d45ceab778c3ff"}"#);
}

#[test]
fn a_model_without_marks_gets_no_field_about_caching() {
    let params = super::chat(&json!({"cache_control": {"type": "ephemeral"}}));
    insta::assert_snapshot!(encoded_request(&params, ServerDialect::Compatible), @r#"{"model":"theirs","messages":[{"role":"user","content":"Hi"}],"max_completion_tokens":5}"#);
}

#[test]
fn a_mark_becomes_a_cache_breakpoint() {
    let mark = json!({"type": "ephemeral"});
    let fields = json!({
        "system": [
            {"type": "text", "text": "A"},
            {"type": "text", "text": "B", "cache_control": mark},
        ],
        "messages": [{"role": "user", "content": [
            {"type": "text", "text": "a", "cache_control": mark},
            {"type": "text", "text": "b"},
        ]}],
    });
    insta::assert_snapshot!(changes(&fields), @r#"
    chat: {"messages":[{"role":"system","content":[{"type":"text","text":"A"},{"type":"text","text":"B","prompt_cache_breakpoint":{"mode":"explicit"}}]},{"role":"user","content":[{"type":"text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}},{"type":"text","text":"b"}]}]}
    responses: {"input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"A"},{"type":"input_text","text":"B","prompt_cache_breakpoint":{"mode":"explicit"}}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}},{"type":"input_text","text":"b"}]}]}
    server: {"messages":[{"role":"system","content":"A\n\nB"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}
    "#);
}

#[test]
fn a_mark_of_the_whole_request_is_after_its_last_part() {
    let fields = json!({"cache_control": {"type": "ephemeral", "ttl": "1h"}});
    insta::assert_snapshot!(changes(&fields), @r#"
    chat: {"messages":[{"role":"user","content":[{"type":"text","text":"Hi","prompt_cache_breakpoint":{"mode":"explicit"}}]}]}
    responses: {"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi","prompt_cache_breakpoint":{"mode":"explicit"}}]}]}
    server: {}
    "#);
}

#[test]
fn a_system_prompt_without_marks_is_one_text() {
    let fields = json!({"system": "Be brief."});
    insta::assert_snapshot!(changes(&fields), @r#"
    chat: {"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]}
    responses: {"instructions":"Be brief."}
    server: {"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]}
    "#);
}

#[test]
fn tools_are_functions() {
    insta::assert_snapshot!(changes(&json!({"tools": tools()})), @r#"
    chat: {"tools":[{"type":"function","function":{"name":"add","description":"Adds.","parameters":{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"integer"}}}}},{"type":"function","function":{"name":"sub","parameters":{"type":"object"},"strict":true}}]}
    responses: {"tools":[{"type":"function","name":"add","description":"Adds.","parameters":{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"integer"}}},"strict":false},{"type":"function","name":"sub","parameters":{"type":"object"},"strict":true}],"include":["reasoning.encrypted_content"]}
    server: {"tools":[{"type":"function","function":{"name":"add","description":"Adds.","parameters":{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"integer"}}}}},{"type":"function","function":{"name":"sub","parameters":{"type":"object"}}}]}
    "#);
}

#[test]
fn a_server_that_must_call_one_tool_is_given_only_that_tool() {
    let mut rows = String::new();
    for choice in [
        json!({"type": "auto"}),
        json!({"type": "auto", "disable_parallel_tool_use": true}),
        json!({"type": "any"}),
        json!({"type": "tool", "name": "sub"}),
        json!({"type": "none"}),
    ] {
        for (name, api, dialect) in WAYS {
            let fields = json!({"tools": tools(), "tool_choice": choice});
            let body = Value::Object(body(&fields, &capable_route(api), dialect).unwrap());
            let (sent, parallel) = (&body["tool_choice"], &body["parallel_tool_calls"]);
            let count = body["tools"].as_array().unwrap().len();
            writeln!(
                rows,
                "{choice} {name}: {sent}, parallel {parallel}, {count} tools"
            )
            .unwrap();
        }
    }
    insta::assert_snapshot!(rows, @r#"
    {"type":"auto"} chat: "auto", parallel null, 2 tools
    {"type":"auto"} responses: "auto", parallel null, 2 tools
    {"type":"auto"} server: "auto", parallel null, 2 tools
    {"type":"auto","disable_parallel_tool_use":true} chat: "auto", parallel false, 2 tools
    {"type":"auto","disable_parallel_tool_use":true} responses: "auto", parallel false, 2 tools
    {"type":"auto","disable_parallel_tool_use":true} server: "auto", parallel false, 2 tools
    {"type":"any"} chat: "required", parallel null, 2 tools
    {"type":"any"} responses: "required", parallel null, 2 tools
    {"type":"any"} server: "required", parallel null, 2 tools
    {"type":"tool","name":"sub"} chat: {"type":"function","function":{"name":"sub"}}, parallel null, 2 tools
    {"type":"tool","name":"sub"} responses: {"type":"function","name":"sub"}, parallel null, 2 tools
    {"type":"tool","name":"sub"} server: "required", parallel null, 1 tools
    {"type":"none"} chat: "none", parallel null, 2 tools
    {"type":"none"} responses: "none", parallel null, 2 tools
    {"type":"none"} server: "none", parallel null, 2 tools
    "#);
}

#[test]
fn a_format_is_a_strict_schema_with_a_name() {
    let schema = json!({
        "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
        "additionalProperties": false,
    });
    let format = json!({"type": "json_schema", "schema": schema});
    insta::assert_snapshot!(changes(&json!({"output_config": {"format": format}})), @r#"
    chat: {"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false},"strict":true}}}
    responses: {"text":{"format":{"type":"json_schema","name":"answer","schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false},"strict":true}}}
    server: {"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false},"strict":true}}}
    "#);
    let format = json!({"type": "json_schema", "schema": schema, "name": "total"});
    insta::assert_snapshot!(changes(&json!({"output_config": {"format": format}})), @r#"
    chat: {"response_format":{"type":"json_schema","json_schema":{"name":"total","schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false},"strict":true}}}
    responses: {"text":{"format":{"type":"json_schema","name":"total","schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false},"strict":true}}}
    server: {"response_format":{"type":"json_schema","json_schema":{"name":"total","schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false},"strict":true}}}
    "#);
}

#[test]
fn the_effort_is_the_callers_or_that_of_the_catalogue() {
    let xhigh = json!({"output_config": {"effort": "xhigh"}});
    insta::assert_snapshot!(changes(&xhigh), @r#"
    chat: {"reasoning_effort":"xhigh"}
    responses: {"reasoning":{"effort":"xhigh"}}
    server: {"reasoning_effort":"xhigh"}
    "#);
    let with_default = |mut route: Route| {
        route.features.thinking.default_effort = Some(Effort::Low);
        route
    };
    for (name, api, dialect) in WAYS {
        let route = with_default(capable_route(api));
        let effort = |fields: &Value| {
            let body = Value::Object(body(fields, &route, dialect).unwrap());
            let nested = body["reasoning"]["effort"].clone();
            if nested.is_null() {
                body["reasoning_effort"].clone()
            } else {
                nested
            }
        };
        assert_eq!(effort(&json!({})), "low", "{name}");
        assert_eq!(effort(&xhigh), "xhigh", "{name}");
        let off = json!({"thinking": {"type": "disabled"}});
        assert_eq!(effort(&off), "none", "{name}");
    }
}

#[test]
fn thinking_is_off_adaptive_or_bounded() {
    let changes = |thinking: Value| changes(&json!({"thinking": thinking}));
    insta::assert_snapshot!(changes(json!({"type": "disabled"})), @r#"
    chat: {"reasoning_effort":"none"}
    responses: {"reasoning":{"effort":"none"}}
    server: {"reasoning_effort":"none"}
    "#);
    insta::assert_snapshot!(changes(json!({"type": "adaptive", "display": "summarized"})), @r#"
    chat: {}
    responses: {"reasoning":{"summary":"auto"},"include":["reasoning.encrypted_content"]}
    server: {}
    "#);
    insta::assert_snapshot!(changes(json!({"type": "enabled", "budget_tokens": 2000})), @r#"
    chat: unsupported: the model does not support a budget for thinking
    responses: unsupported: the model does not support a budget for thinking
    server: {"thinking_token_budget":2000}
    "#);
}

#[test]
fn a_model_that_does_not_think_is_not_asked_for_thoughts() {
    let route = Route {
        api: ChatApi::Responses,
        ..route()
    };
    let body = body(&json!({"tools": tools()}), &route, ServerDialect::OpenAi).unwrap();
    assert!(!body.contains_key("include"), "{body:?}");
}

#[test]
fn sampling_is_left_out_if_the_model_refuses_it() {
    let fields = json!({"temperature": 0.5, "top_p": 0.9, "top_k": 40});
    insta::assert_snapshot!(changes(&fields), @r#"
    chat: {"temperature":0.5,"top_p":0.9}
    responses: {"temperature":0.5,"top_p":0.9}
    server: {"temperature":0.5,"top_p":0.9,"top_k":40}
    "#);
    for sampling in [SamplingSupport::Drop, SamplingSupport::Refuse] {
        let rows = changes_by(&fields, |mut route| {
            route.features.sampling = sampling;
            route
        });
        assert_eq!(rows, "chat: {}\nresponses: {}\nserver: {}\n");
    }
}

#[test]
fn stop_sequences_are_sent_all_or_none() {
    let fields = json!({"stop_sequences": ["a", "b"]});
    insta::assert_snapshot!(changes(&fields), @r#"
    chat: {"stop":["a","b"]}
    responses: {}
    server: {"stop":["a","b"]}
    "#);
    let fields = json!({"stop_sequences": ["a", "b", "c", "d", "e"]});
    assert_eq!(changes(&fields), "chat: {}\nresponses: {}\nserver: {}\n");
}

#[test]
fn a_seed_is_sent_where_there_is_one() {
    insta::assert_snapshot!(changes(&json!({"seed": 7})), @r#"
    chat: {"seed":7}
    responses: {}
    server: {"seed":7}
    "#);
}

#[test]
fn options_of_the_provider_never_replace_a_field() {
    let options = json!({
        "openai": {"verbosity": "low", "model": "other", "top_logprobs": 1},
        "server": {"min_p": 0.1, "messages": []},
        "anthropic": {"inference_geo": "us"},
    });
    insta::assert_snapshot!(changes(&json!({"provider_options": options})), @r#"
    chat: {"verbosity":"low","top_logprobs":1}
    responses: {"text":{"verbosity":"low"},"top_logprobs":1}
    server: {"min_p":0.1}
    "#);
}

#[test]
fn max_tokens_is_at_least_what_the_provider_takes() {
    for (name, api, dialect) in WAYS {
        let mut route = capable_route(api);
        route.features.min_output = 16;
        let body = body(&json!({}), &route, dialect).unwrap();
        let field = ["max_completion_tokens", "max_output_tokens", "max_tokens"];
        let sent = field.iter().find_map(|field| body.get(*field));
        assert_eq!(sent, Some(&json!(16)), "{name}");
    }
}

#[test]
fn an_embedding_is_of_one_text_or_of_many() {
    let encoded = |input: &Value, fields: Value| {
        let mut item = embedding(input);
        let mut params = serde_json::to_value(&item.params).unwrap();
        let fields = fields.as_object().unwrap().clone();
        params.as_object_mut().unwrap().extend(fields);
        item.params = serde_json::from_value(params).unwrap();
        let body = request_body(&item, &route(), &FixtureMedia, ServerDialect::OpenAi);
        Value::Object(body.unwrap()).to_string()
    };
    insta::assert_snapshot!(encoded(&json!("a"), json!({})), @r#"{"model":"theirs","input":"a","encoding_format":"float"}"#);
    insta::assert_snapshot!(encoded(&json!(["a", "b"]), json!({"dimensions": 256})), @r#"{"model":"theirs","input":["a","b"],"encoding_format":"float","dimensions":256}"#);
}

#[test]
fn each_api_has_its_path() {
    let paths = [
        endpoint_path(ModelKind::Chat, ChatApi::Completions),
        endpoint_path(ModelKind::Chat, ChatApi::Responses),
        endpoint_path(ModelKind::Embedding, ChatApi::Responses),
    ];
    assert_eq!(paths, ["/chat/completions", "/responses", "/embeddings"]);
}
