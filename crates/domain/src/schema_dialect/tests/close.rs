//! Which objects are closed.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{any_schema, object};
use crate::schema_dialect::close_objects;

fn closed(schema: &Value) -> String {
    serde_json::to_string(&close_objects(&object(schema))).unwrap()
}

#[test]
fn all_objects_with_properties_are_closed() {
    let schema = json!({
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": {"type": "object", "properties": {}}},
            "either": {"anyOf": [{"type": "null"}, {"properties": {}}]},
        },
        "$defs": {"d": {"properties": {}}},
    });
    insta::assert_snapshot!(closed(&schema), @r#"{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{},"additionalProperties":false}},"either":{"anyOf":[{"type":"null"},{"properties":{},"additionalProperties":false}]}},"$defs":{"d":{"properties":{},"additionalProperties":false}},"additionalProperties":false}"#);
}

#[test]
fn an_object_whose_meaning_would_change_stays_open() {
    let unchanged = [
        json!({"type": "object", "properties": {}, "additionalProperties": true}),
        json!({"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}),
        json!({"type": "object"}),
        json!({"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}),
        json!({"properties": {"a": {}}, "anyOf": [{"properties": {"b": {}}}]}),
        json!({"properties": {"a": {}}, "$ref": "#/$defs/b"}),
        json!({"type": "object", "if": {"properties": {"a": {}}}, "then": {"properties": {}}}),
    ];
    for schema in unchanged {
        assert_eq!(closed(&schema), schema.to_string());
    }
}

#[test]
fn data_that_looks_like_a_schema_stays_as_it_is() {
    let data = json!({"type": "object", "properties": {}});
    let schema = json!({"enum": [data], "const": data, "default": data, "examples": [data]});
    assert_eq!(closed(&schema), schema.to_string());
}

#[test]
fn properties_below_a_composed_object_are_closed() {
    let schema = json!({"allOf": [{"properties": {"a": {"properties": {}}}}]});
    insta::assert_snapshot!(closed(&schema), @r#"{"allOf":[{"properties":{"a":{"properties":{},"additionalProperties":false}}}]}"#);
}

proptest! {
    #[test]
    fn closing_twice_is_closing_once(schema in any_schema()) {
        let schema = object(&json!({"properties": {"a": schema}, "items": schema}));
        let once = close_objects(&schema);
        prop_assert_eq!(close_objects(&once), once);
    }
}
