//! Closing the objects of a schema: `additionalProperties: false` where the caller says nothing.

use serde_json::{Map, Value};

use crate::schema_dialect::MAX_SCHEMA_DEPTH;
use crate::schema_dialect::keyword_shape::{KeywordShape, shape_of};

/// Keywords that give an object properties from other schemas. Closing such an object would forbid
/// them.
const COMPOSING: [&str; 9] = [
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "$ref",
];

/// The schema of an answer with all its objects closed, because providers require it.
///
/// An object that is open, or composed of several schemas, or without `properties`, stays as it is:
/// closing it would change which answers fit.
#[must_use]
pub fn close_objects(schema: &Map<String, Value>) -> Map<String, Value> {
    let mut closed = schema.clone();
    close_node(&mut closed, false, 1);
    closed
}

/// `is_part`: the schema describes a part of an object, and other schemas describe the rest.
fn close_node(node: &mut Map<String, Value>, is_part: bool, depth: usize) {
    if depth > MAX_SCHEMA_DEPTH {
        return;
    }
    let has_properties = node.get("properties").is_some_and(Value::is_object);
    let is_composed = COMPOSING.iter().any(|keyword| node.contains_key(*keyword));
    for (keyword, value) in node.iter_mut() {
        let is_part_below = match keyword.as_str() {
            "allOf" | "not" | "if" | "then" | "else" | "dependentSchemas" => true,
            "anyOf" | "oneOf" => is_part || has_properties,
            _ => false,
        };
        close_below(keyword, value, is_part_below, depth);
    }
    if has_properties && !is_part && !is_composed && !node.contains_key("additionalProperties") {
        let keyword = "additionalProperties".to_owned();
        node.insert(keyword, Value::Bool(false));
    }
}

fn close_below(keyword: &str, value: &mut Value, is_part: bool, depth: usize) {
    let below: Vec<&mut Value> = match shape_of(keyword) {
        Some(KeywordShape::Schema) => vec![value],
        Some(KeywordShape::SchemaList) => value.as_array_mut().into_iter().flatten().collect(),
        Some(KeywordShape::SchemaMap) => {
            let named = value.as_object_mut().into_iter().flatten();
            named.map(|(_, value)| value).collect()
        }
        Some(
            KeywordShape::Text
            | KeywordShape::Number
            | KeywordShape::Count
            | KeywordShape::Types
            | KeywordShape::Values
            | KeywordShape::Names,
        )
        | None => Vec::new(),
    };
    for schema in below {
        if let Value::Object(node) = schema {
            close_node(node, is_part, depth + 1);
        }
    }
}
