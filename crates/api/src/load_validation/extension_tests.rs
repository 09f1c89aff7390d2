//! The validation of fields that go beyond the contract.

use serde_json::{Value, json};

use super::tests::{RULES, accepted, chat, message, validation_errors};
use super::*;

pub(super) fn schema() -> Value {
    json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})
}

fn tool(name: &str) -> Value {
    json!({"name": name, "input_schema": schema()})
}

/// One line per warning: field, code, message.
pub(super) fn warnings(body: &Value) -> String {
    let warnings = accepted(body).warnings.into_iter().map(|warning| {
        let code = serde_json::to_value(warning.code).unwrap();
        let code = code.as_str().unwrap().to_owned();
        format!("{} {code}: {}", warning.field, warning.message)
    });
    warnings.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_field_beyond_the_contract_is_read() {
    let params = json!({
        "model": "m",
        "max_tokens": 4096,
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "Weather?", "cache_control": {"type": "ephemeral"}},
            ]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "v1.anthropic.YQ"},
                {"type": "redacted_thinking", "data": "ZGF0YQ"},
                {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Kiel"}},
                {"type": "tool_use", "id": "toolu_2", "name": "weather", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": [
                    {"type": "text", "text": "Rain."},
                    {"type": "image", "source": {"file_id": "f1"}},
                ]},
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no city",
                    "is_error": true, "cache_control": {"type": "ephemeral", "ttl": "5m"}},
            ]},
        ],
        "system": [
            {"type": "text", "text": "A long manual.",
                "cache_control": {"type": "ephemeral", "ttl": "1h"}},
        ],
        "tools": [
            {"name": "weather", "description": "The weather of a city.",
                "input_schema": schema(), "strict": true,
                "cache_control": {"type": "ephemeral", "ttl": "1h"}},
        ],
        "tool_choice": {"type": "tool", "name": "weather", "disable_parallel_tool_use": true},
        "output_config": {
            "format": {"type": "json_schema", "schema": schema(), "name": "report"},
            "effort": "xhigh",
        },
        "thinking": {"type": "enabled", "budget_tokens": 2048, "display": "summarized"},
        "cache_control": {"type": "ephemeral"},
        "seed": 7,
        "provider_options": {"openai": {"verbosity": "low"}},
    });
    let load = accepted(&json!({ "params": params }));
    assert_eq!(load.warnings, []);
    assert_eq!(serde_json::to_value(&load.params).unwrap(), params);
    let params = json!({
        "model": "e", "input_text": "a", "dimensions": 256, "input_type": "query",
    });
    let load = accepted(&json!({ "params": params }));
    assert_eq!(serde_json::to_value(&load.params).unwrap(), params);
}

#[test]
fn the_order_of_keys_in_schemas_and_inputs_is_kept() {
    let params = r#"{"model":"m","max_tokens":5,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{"z":1,"a":{"y":2,"b":null}}}]}],"tools":[{"name":"t","input_schema":{"type":"object","properties":{"z":{},"a":{}}}}]}"#;
    let load = parse_load(format!(r#"{{"params":{params}}}"#).as_bytes(), &RULES).unwrap();
    assert_eq!(serde_json::to_string(&load.params).unwrap(), params);
}

#[test]
fn tools_are_checked() {
    let body = chat(json!({"tools": [
        {"type": "function", "function": {"name": "t"}},
        {"name": "a b", "description": 5, "input_schema": {"type": "string"}, "strict": "yes"},
        {"name": "t", "input_schema": []},
        {"name": "u", "input_schema": schema(), "cache_control": {"ttl": "2h"}},
        {"name": "v", "input_schema": schema(), "parameters": {}},
        {"name": "v", "input_schema": schema()},
        null,
    ]}));
    insta::assert_snapshot!(validation_errors(&body), @"
    body.params.tools.0.function value_error: Longshore has no field of this name. Write name, description and input_schema directly into the tool.
    body.params.tools.0.type value_error: A tool is a function that you run: leave out type, or use custom
    body.params.tools.0.name missing: Field required
    body.params.tools.0.input_schema missing: Field required
    body.params.tools.1.name value_error: Input should be 1 to 64 letters, digits, _ or -, and begin with a letter or _
    body.params.tools.1.description string_type: Input should be a string
    body.params.tools.1.strict bool_type: Input should be true or false
    body.params.tools.1.input_schema.type value_error: Input should be object: a tool takes named arguments
    body.params.tools.2.input_schema object_type: Input should be an object
    body.params.tools.3.cache_control.type missing: Field required
    body.params.tools.3.cache_control.ttl value_error: Input should be 5m or 1h
    body.params.tools.4.parameters value_error: Longshore has no field of this name. Use input_schema.
    body.params.tools.5.name value_error: Another tool has this name
    body.params.tools.6 object_type: Input should be an object
    ");
    let tools = |count: usize| {
        let tools = (0..count).map(|index| tool(&format!("t{index}")));
        chat(json!({"tools": tools.collect::<Vec<_>>()}))
    };
    accepted(&tools(128));
    insta::assert_snapshot!(validation_errors(&tools(129)), @"body.params.tools too_long: Input should have at most 128 tools");
}

#[test]
fn schemas_have_a_size_and_a_depth() {
    let with_schema = |schema: &Value| {
        chat(json!({"output_config": {"format": {"type": "json_schema", "schema": schema}}}))
    };
    let deep = |levels: usize| (1..levels).fold(json!({}), |inner, _| json!({"items": inner}));
    accepted(&with_schema(&deep(32)));
    insta::assert_snapshot!(validation_errors(&with_schema(&deep(33))), @"body.params.output_config.format.schema too_deep: Input should be nested at most 32 levels deep");
    let large = json!({"description": "x".repeat(256 << 10)});
    insta::assert_snapshot!(validation_errors(&with_schema(&large)), @"body.params.output_config too_long: Tools and schemas should be at most 262144 bytes of JSON");
    let mut large_tool = tool("t");
    large_tool["description"] = json!("x".repeat(256 << 10));
    insta::assert_snapshot!(validation_errors(&chat(json!({"tools": [large_tool]}))), @"body.params.tools too_long: Tools and schemas should be at most 262144 bytes of JSON");
}

#[test]
fn a_tool_choice_is_an_object_of_a_known_type() {
    let choice = |choice: Value| validation_errors(&chat(json!({"tool_choice": choice})));
    insta::assert_snapshot!(choice(json!("auto")), @r#"body.params.tool_choice object_type: Input should be an object, such as {"type": "auto"}"#);
    insta::assert_snapshot!(choice(json!({"type": "required"})), @"body.params.tool_choice.type value_error: Input should be auto, any, tool or none");
    insta::assert_snapshot!(choice(json!({"type": "tool"})), @"body.params.tool_choice.name missing: Field required");
    insta::assert_snapshot!(choice(json!({"type": "any", "name": "t"})), @"body.params.tool_choice.name value_error: Only a tool_choice of the type tool has a name");
    insta::assert_snapshot!(choice(json!({"type": "none", "disable_parallel_tool_use": true})), @"body.params.tool_choice.disable_parallel_tool_use value_error: A tool_choice of the type none calls no tool");
}

#[test]
fn thinking_and_output_are_checked() {
    let body = chat(json!({
        "thinking": {"type": "adaptive", "budget_tokens": 5, "display": "full", "effort": "low"},
        "output_config": {"effort": "minimal", "format": {"type": "json_object", "strict": true}},
        "seed": 2_147_483_648_u32,
        "cache_control": "ephemeral",
    }));
    insta::assert_snapshot!(validation_errors(&body), @"
    body.params.thinking.effort value_error: Longshore has no field of this name. Use output_config.effort.
    body.params.thinking.budget_tokens value_error: Only thinking of the type enabled has budget_tokens
    body.params.thinking.display value_error: Input should be summarized or omitted
    body.params.output_config.format.strict value_error: Longshore has no field of this name. Leave it out: the schema is always enforced.
    body.params.output_config.format.type value_error: Input should be json_schema
    body.params.output_config.format.schema missing: Field required
    body.params.output_config.effort value_error: Input should be low, medium, high, xhigh or max
    body.params.cache_control object_type: Input should be an object
    body.params.seed value_error: Input should be an integer between 0 and 2147483647
    ");
    insta::assert_snapshot!(validation_errors(&chat(json!({"thinking": {"type": "enabled"}}))), @"body.params.thinking.budget_tokens missing: Field required");
    insta::assert_snapshot!(validation_errors(&chat(json!({"thinking": {"type": "disabled", "display": "omitted"}}))), @"body.params.thinking.display value_error: Thinking of the type disabled has nothing to display");
}

#[test]
fn blocks_of_tools_and_thoughts_are_checked() {
    let body = message(&json!([
        {"type": "tool_use", "id": "", "name": "t", "input": "{}"},
        {"type": "tool_result", "tool_use_id": "a", "content": [
            {"type": "video", "source": {"file_id": "f"}},
            {"type": "tool_result", "tool_use_id": "b", "content": "c"},
            {"type": "text"},
        ], "is_error": 1},
        {"type": "tool_result", "tool_use_id": "a", "content": []},
        {"type": "thinking", "thinking": "a"},
        {"type": "redacted_thinking"},
        {"type": "text", "text": "a", "content": [5], "input": 5},
    ]));
    insta::assert_snapshot!(validation_errors(&body), @"
    body.params.messages.0.content.0.id value_error: Input should be 1 to 64 letters, digits, _ or -
    body.params.messages.0.content.0.input object_type: Input should be an object
    body.params.messages.0.content.1.is_error bool_type: Input should be true or false
    body.params.messages.0.content.1.content.0.type value_error: Input should be text, image or document
    body.params.messages.0.content.1.content.1.type value_error: Input should be text, image or document
    body.params.messages.0.content.1.content.2.text missing: Field required
    body.params.messages.0.content.2.content too_short: Input should have at least one block
    body.params.messages.0.content.3.signature missing: Field required
    body.params.messages.0.content.4.data missing: Field required
    ");
}

#[test]
fn files_in_results_of_tools_are_counted() {
    let file = json!({"type": "image", "source": {"file_id": "f"}});
    let result = json!({"type": "tool_result", "tool_use_id": "a", "content": vec![file; 101]});
    insta::assert_snapshot!(validation_errors(&message(&json!([result]))), @"body.params.messages too_long: Input should reference at most 100 files");
}

#[test]
fn a_system_prompt_of_blocks_is_checked() {
    let body = chat(json!({"system": [{"type": "text"}, {"type": "image", "text": "a"}, 5]}));
    insta::assert_snapshot!(validation_errors(&body), @"
    body.params.system.0.text missing: Field required
    body.params.system.1.type value_error: Input should be text
    body.params.system.2 object_type: Input should be an object
    ");
    insta::assert_snapshot!(validation_errors(&chat(json!({"system": []}))), @"body.params.system too_short: Input should have at least one block");
}

#[test]
fn options_for_providers_are_bounded() {
    let options = |options: Value| chat(json!({"provider_options": options}));
    accepted(&options(json!({"openai": {"a": [[[[]]]], "b": null}})));
    let body = options(json!({
        "openai": {"a": [[[[[]]]]], "b": "x".repeat(4095)},
        "anthropic": 5,
        "gemini": null,
    }));
    insta::assert_snapshot!(validation_errors(&body), @"
    body.params.provider_options.openai.a too_deep: Input should be nested at most 4 levels deep
    body.params.provider_options.openai.b too_long: Input should be at most 4096 bytes of JSON
    body.params.provider_options.anthropic object_type: Input should be an object
    ");
}

#[test]
fn fields_of_the_other_kind_are_refused_or_ignored() {
    let body = chat(json!({"dimensions": 5, "input_type": "query"}));
    insta::assert_snapshot!(validation_errors(&body), @"
    body.params.dimensions value_error: Only an embedding request has this field
    body.params.input_type value_error: Only an embedding request has this field
    ");
    let embedding = |more: Value| {
        let mut params = json!({"model": "e", "input_text": "a", "max_tokens": 5});
        params
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({ "params": params })
    };
    assert_eq!(warnings(&embedding(json!({}))), "");
    insta::assert_snapshot!(warnings(&embedding(json!({"temperature": 0}))), @"params.temperature unknown_field: An embedding request has no such field, so it is ignored.");
    let body = embedding(json!({"tools": [], "seed": 1, "dimensions": 0, "input_type": "text"}));
    insta::assert_snapshot!(validation_errors(&body), @"
    body.params.tools value_error: Only a chat request has this field
    body.params.seed value_error: Only a chat request has this field
    body.params.dimensions greater_than: Input should be greater than 0
    body.params.input_type value_error: Input should be query, document, similarity, classification or clustering
    ");
}

#[test]
fn a_deadline_is_seconds_or_a_time() {
    let with = |more: Value| {
        let mut body = chat(json!({}));
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        body
    };
    let deadline = |more: Value| accepted(&with(more)).deadline;
    assert_eq!(deadline(json!({"deadline_seconds": null})), None);
    let hour = chrono::TimeDelta::hours(1);
    assert_eq!(
        deadline(json!({"deadline_seconds": 3600})),
        Some(RequestedDeadline::AfterLoad(hour))
    );
    assert_eq!(
        deadline(json!({"deadline_at": "2026-11-15T13:00:00.1234567+01:00"})),
        Some(RequestedDeadline::At(
            "2026-11-15T12:00:00.123456Z".parse().unwrap()
        ))
    );
    insta::assert_snapshot!(validation_errors(&with(json!({"deadline_seconds": 59}))), @"body.deadline_seconds value_error: Input should be between 60 and 86400 seconds");
    insta::assert_snapshot!(validation_errors(&with(json!({"deadline_seconds": 86_401}))), @"body.deadline_seconds value_error: Input should be between 60 and 86400 seconds");
    let both = with(json!({"deadline_seconds": "60", "deadline_at": "tomorrow"}));
    insta::assert_snapshot!(validation_errors(&both), @"
    body value_error: deadline_seconds and deadline_at cannot be combined
    body.deadline_seconds int_type: Input should be an integer
    body.deadline_at value_error: Input should be a time of RFC 3339, such as 2026-11-15T12:00:00Z
    ");
}

#[test]
fn a_listener_may_be_named_unless_the_tunnel_is_off() {
    let mut body = json!({"params": chat(json!({}))["params"], "callback_url": "listen://anna"});
    let rules = LoadRules {
        schemes: AllowedSchemes::HttpsOnly,
        ..RULES
    };
    assert!(parse_load(body.to_string().as_bytes(), &rules).is_ok());
    let rules = LoadRules {
        allows_listeners: false,
        ..RULES
    };
    assert!(parse_load(body.to_string().as_bytes(), &rules).is_err());
    body["callback_url"] = json!("listen://Anna");
    insta::assert_snapshot!(validation_errors(&body), @"body.callback_url value_error: callback_url must be listen:// and a name of 1 to 32 lowercase letters, digits and hyphens");
}
