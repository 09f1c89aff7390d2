//! Schemas of answers and tools, in the dialects of a model's routes.

use serde_json::{Map, Value, json};

use super::{able, chat};
use crate::features::{Features, SchemaDialect};

fn with_dialects(dialects: &[SchemaDialect]) -> Features {
    Features {
        schema_dialects: dialects.to_vec(),
        ..able()
    }
}

fn format(schema: &Value) -> Value {
    json!({"output_config": {"format": {"type": "json_schema", "schema": schema}}})
}

fn tool(name: &str, schema: &Value, is_strict: bool) -> Value {
    json!({"name": name, "input_schema": schema, "strict": is_strict})
}

#[test]
fn the_schema_of_an_answer_fits_all_routes_and_its_objects_are_closed() {
    let open = json!({
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
    });
    let all = with_dialects(&[
        SchemaDialect::OpenAi,
        SchemaDialect::Anthropic,
        SchemaDialect::Gemini,
    ]);
    assert_eq!(chat(all.clone(), format(&open)), "");

    let limited = json!({
        "type": "object",
        "properties": {"age": {"type": "integer", "minimum": 0}, "name": {"type": "string"}},
        "required": ["age"],
    });
    insta::assert_snapshot!(chat(all, format(&limited)), @r"
    params.output_config.format.schema.properties.name: Every property must be in required: for an optional value, add null to its type
    params.output_config.format.schema.properties.age.minimum: The model does not support minimum in a schema: write the limit into the description, and check the answer
    ");
    let gemini = with_dialects(&[SchemaDialect::Gemini]);
    assert_eq!(chat(gemini, format(&limited)), "");
}

#[test]
fn a_fault_that_several_dialects_share_is_reported_once() {
    let both = with_dialects(&[SchemaDialect::Anthropic, SchemaDialect::Gemini]);
    let schema = json!({
        "type": "object", "properties": {"a": {"type": "string", "minLength": 1}},
        "required": ["a"],
    });
    insta::assert_snapshot!(chat(both, format(&schema)), @"params.output_config.format.schema.properties.a.minLength: The model does not support minLength in a schema: write the limit into the description, and check the answer");
}

#[test]
fn a_tool_is_checked_by_the_dialect_only_if_it_is_strict() {
    let openai = with_dialects(&[SchemaDialect::OpenAi]);
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let tools = |is_strict: bool| json!({"tools": [tool("weather", &schema, is_strict)]});
    assert_eq!(chat(openai.clone(), tools(false)), "");
    insta::assert_snapshot!(chat(openai, tools(true)), @r"
    params.tools.0.input_schema: An object must list its properties and have additionalProperties: false
    params.tools.0.input_schema.properties.city: Every property must be in required: for an optional value, add null to its type
    ");
}

#[test]
fn gemini_resolves_the_references_of_every_tool() {
    let described = json!({
        "type": "object",
        "properties": {
            "from": {"$ref": "#/$defs/city", "description": "Where it starts"},
            "to": {"$ref": "#/$defs/town"},
            "over": {"type": "array", "items": {"$ref": "#/$defs/city"}, "uniqueItems": true},
        },
        "$defs": {"city": {"type": "string", "minLength": 2}},
    });
    let tools = json!({"tools": [tool("route", &described, false)]});
    let openai = with_dialects(&[SchemaDialect::OpenAi]);
    assert_eq!(chat(openai, tools.clone()), "");
    let both = with_dialects(&[SchemaDialect::OpenAi, SchemaDialect::Gemini]);
    insta::assert_snapshot!(chat(both, tools), @r"
    params.tools.0.input_schema.properties.from.description: A schema with $ref cannot have this keyword: put it where $ref points
    params.tools.0.input_schema.properties.to.$ref: $ref points to nothing in this schema
    ");
}

#[test]
fn openai_and_anthropic_refuse_a_tool_whose_whole_schema_is_a_union() {
    let tools = |keyword: &str, is_strict: bool| {
        let mut schema = unions(1);
        schema[keyword] = json!([unions(1)]);
        json!({"tools": [tool("a", &schema, is_strict)]})
    };
    for dialect in [SchemaDialect::OpenAi, SchemaDialect::Anthropic] {
        let features = with_dialects(&[dialect]);
        insta::allow_duplicates! {
            insta::assert_snapshot!(chat(features.clone(), tools("anyOf", false)), @"params.tools.0.input_schema.anyOf: The whole schema cannot be a union: put anyOf into a property");
            insta::assert_snapshot!(chat(features.clone(), tools("anyOf", true)), @"params.tools.0.input_schema.anyOf: The whole schema cannot be a union: put anyOf into a property");
            insta::assert_snapshot!(chat(features.clone(), tools("oneOf", false)), @"params.tools.0.input_schema.oneOf: The whole schema cannot be a union: put oneOf into a property");
            insta::assert_snapshot!(chat(features, tools("allOf", false)), @"params.tools.0.input_schema.allOf: The whole schema cannot be a combination: put allOf into a property");
        }
    }
    for dialect in [SchemaDialect::Gemini, SchemaDialect::Server] {
        let features = with_dialects(&[dialect]);
        for keyword in ["anyOf", "oneOf", "allOf"] {
            assert_eq!(chat(features.clone(), tools(keyword, false)), "");
        }
    }
    // An answer may be a union for Anthropic.
    let mut schema = unions(1);
    schema["anyOf"] = json!([unions(1)]);
    let claude = with_dialects(&[SchemaDialect::Anthropic]);
    assert_eq!(chat(claude, format(&schema)), "");
}

#[test]
fn openai_refuses_an_array_without_items_in_every_tool() {
    let schema = json!({
        "type": "object",
        "properties": {
            "tags": {"type": "array"},
            "rows": {"type": "array", "items": {"type": ["array", "null"]}},
            "any": {"not": {"anyOf": [{"type": "array"}]}},
            "data": {"default": {"type": "array"}},
        },
    });
    let tools = json!({"tools": [tool("a", &schema, false)]});
    let openai = with_dialects(&[SchemaDialect::OpenAi]);
    insta::assert_snapshot!(chat(openai, tools.clone()), @r"
    params.tools.0.input_schema.properties.tags: A schema of an array must have items
    params.tools.0.input_schema.properties.rows.items: A schema of an array must have items
    params.tools.0.input_schema.properties.any.not.anyOf.0: A schema of an array must have items
    ");
    let others = with_dialects(&[
        SchemaDialect::Anthropic,
        SchemaDialect::Gemini,
        SchemaDialect::Server,
    ]);
    assert_eq!(chat(others, tools), "");
}

#[test]
fn the_input_of_every_tool_is_an_object() {
    let gemini = with_dialects(&[SchemaDialect::Gemini]);
    let list = json!({"type": "array", "items": {"type": "string"}});
    let tools = json!({"tools": [tool("a", &list, false)]});
    insta::assert_snapshot!(chat(gemini, tools), @"params.tools.0.input_schema.type: The type of the whole schema must be object");
}

/// A closed object with this many unions.
fn unions(count: usize) -> Value {
    let names: Vec<String> = (0..count).map(|at| format!("p{at}")).collect();
    let property = || json!({"type": ["string", "null"]});
    let properties: Map<String, Value> = names
        .iter()
        .map(|name| (name.clone(), property()))
        .collect();
    json!({
        "type": "object", "properties": properties, "required": names,
        "additionalProperties": false,
    })
}

#[test]
fn limits_of_anthropic_count_over_all_strict_schemas() {
    let claude = with_dialects(&[SchemaDialect::Anthropic]);
    let request = |first: usize, second: usize, is_strict: bool| {
        let mut request = format(&unions(first));
        request["tools"] = json!([tool("a", &unions(second), is_strict)]);
        request
    };
    assert_eq!(chat(claude.clone(), request(8, 8, true)), "");
    assert_eq!(chat(claude.clone(), request(9, 8, false)), "");
    insta::assert_snapshot!(chat(claude.clone(), request(9, 8, true)), @"params.tools: The strict schemas of a request may have at most 16 unions (anyOf, or a list of types) together");

    let tools: Vec<Value> = (0..21)
        .map(|at| tool(&format!("t{at}"), &unions(0), true))
        .collect();
    insta::assert_snapshot!(chat(claude, json!({"tools": tools})), @"params.tools: The model takes at most 20 strict tools");
}
