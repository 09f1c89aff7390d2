//! The limit on the JSON values that a load keeps.

use serde_json::{Value, json};

use super::tests::{accepted, chat, message, validation_errors};
use crate::json_budget::MAX_JSON_VALUES;

fn zeros(count: usize) -> Value {
    vec![json!(0); count].into()
}

/// The input has two values more than the list: the object and the list.
fn call(list: &Value) -> Value {
    message(&json!([{"type": "tool_use", "id": "a", "name": "t", "input": {"a": list}}]))
}

#[test]
fn exactly_the_limit_passes_and_one_more_value_is_refused() {
    accepted(&call(&zeros(MAX_JSON_VALUES - 2)));
    insta::assert_snapshot!(validation_errors(&call(&zeros(MAX_JSON_VALUES - 1))), @"body.params.messages.0.content.0.input too_long: Input should have at most 100000 JSON values in tools, schemas, tool inputs and options together");
}

#[test]
fn values_inside_others_count() {
    let pairs = |count: usize| Value::from(vec![json!([[]]); count]);
    let objects = |count: usize| Value::from(vec![json!({"b": 0}); count]);
    let most = (MAX_JSON_VALUES - 2) / 2;
    accepted(&call(&pairs(most)));
    accepted(&call(&objects(most)));
    let refused = validation_errors(&call(&pairs(most + 1)));
    insta::assert_snapshot!(refused, @"body.params.messages.0.content.0.input too_long: Input should have at most 100000 JSON values in tools, schemas, tool inputs and options together");
    assert_eq!(validation_errors(&call(&objects(most + 1))), refused);
}

#[test]
fn all_fields_share_the_limit_and_the_first_beyond_it_is_reported() {
    // Each schema has three values beside those of its enum, and the options have two.
    let body = |of_tool: usize, of_format: usize| {
        let schema = |count: usize| json!({"type": "object", "enum": zeros(count)});
        let format = json!({"type": "json_schema", "schema": schema(of_format)});
        chat(json!({
            "tools": [{"name": "t", "input_schema": schema(of_tool)}],
            "output_config": {"format": format},
            "provider_options": {"openai": {"a": 0}},
        }))
    };
    let rest = MAX_JSON_VALUES - 8;
    accepted(&body(50_000, rest - 50_000));
    insta::assert_snapshot!(validation_errors(&body(50_000, rest - 49_999)), @"body.params.provider_options.openai.a too_long: Input should have at most 100000 JSON values in tools, schemas, tool inputs and options together");
    insta::assert_snapshot!(validation_errors(&body(50_000, rest - 49_998)), @"body.params.provider_options.openai too_long: Input should have at most 100000 JSON values in tools, schemas, tool inputs and options together");
    insta::assert_snapshot!(validation_errors(&body(50_000, rest)), @"body.params.output_config.format.schema too_long: Input should have at most 100000 JSON values in tools, schemas, tool inputs and options together");
    insta::assert_snapshot!(validation_errors(&body(rest + 6, 0)), @"body.params.tools.0.input_schema too_long: Input should have at most 100000 JSON values in tools, schemas, tool inputs and options together");
}

#[test]
fn an_input_counts_in_a_block_of_another_type_too() {
    // The type may come after the input, so the input is read in any case.
    let input = json!({"a": zeros(MAX_JSON_VALUES)});
    let body = message(&json!([{"input": input, "type": "text", "text": "a"}]));
    insta::assert_snapshot!(validation_errors(&body), @"body.params.messages.0.content.0.input too_long: Input should have at most 100000 JSON values in tools, schemas, tool inputs and options together");
}

#[test]
fn many_providers_without_options_count() {
    let names = (0..=MAX_JSON_VALUES).map(|at| (format!("p{at:06}"), json!({})));
    let options: Value = names.collect::<serde_json::Map<_, _>>().into();
    let body = chat(json!({"provider_options": options}));
    insta::assert_snapshot!(validation_errors(&body), @"
    body.params.provider_options.p100000 too_long: Input should have at most 100000 JSON values in tools, schemas, tool inputs and options together
    body.params.provider_options too_long: Input should have at most 64 entries
    ");
}
