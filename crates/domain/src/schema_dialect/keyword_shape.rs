//! The form of each keyword's value, in every dialect.

use serde_json::{Map, Value};

use crate::field_refusal::FieldPath;
use crate::schema_dialect::FaultList;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeywordShape {
    Text,
    Number,
    Count,
    Types,
    Values,
    Names,
    Schema,
    SchemaList,
    SchemaMap,
}

const TYPES: [&str; 7] = [
    "object", "array", "string", "integer", "number", "boolean", "null",
];

/// The shape of a keyword's value; None if it may be anything.
pub(super) fn shape_of(keyword: &str) -> Option<KeywordShape> {
    let shape = match keyword {
        "type" => KeywordShape::Types,
        "enum" => KeywordShape::Values,
        "required" | "propertyOrdering" => KeywordShape::Names,
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
            KeywordShape::SchemaMap
        }
        "anyOf" | "allOf" | "oneOf" | "prefixItems" => KeywordShape::SchemaList,
        "items"
        | "additionalProperties"
        | "additionalItems"
        | "contains"
        | "not"
        | "if"
        | "then"
        | "else"
        | "propertyNames"
        | "unevaluatedItems"
        | "unevaluatedProperties" => KeywordShape::Schema,
        "title" | "description" | "format" | "pattern" | "$ref" | "$id" | "$anchor" | "$schema"
        | "$comment" => KeywordShape::Text,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
            KeywordShape::Number
        }
        "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties" | "maxProperties" => {
            KeywordShape::Count
        }
        _ => return None,
    };
    Some(shape)
}

pub(super) fn check(node: &Map<String, Value>, place: FieldPath<'_>, faults: &mut FaultList) {
    for (keyword, value) in node {
        if let Some(shape) = shape_of(keyword)
            && !shape.fits(value)
        {
            let message = format!("{keyword} must be {}", shape.description());
            faults.add(place.key(keyword), keyword, message);
        }
    }
}

impl KeywordShape {
    fn fits(self, value: &Value) -> bool {
        let is_filled_list = || value.as_array().is_some_and(|list| !list.is_empty());
        match self {
            Self::Text => value.is_string(),
            Self::Number => value.is_number(),
            Self::Count => value.is_u64(),
            Self::Types => {
                let list = value.as_array().map(Vec::as_slice);
                let kinds = list.unwrap_or(std::slice::from_ref(value));
                !kinds.is_empty() && kinds.iter().all(is_type)
            }
            Self::Values | Self::SchemaList => is_filled_list(),
            Self::Names => value
                .as_array()
                .is_some_and(|list| list.iter().all(Value::is_string)),
            Self::Schema => value.is_object() || value.is_boolean(),
            Self::SchemaMap => value.is_object(),
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Number => "a number",
            Self::Count => "an integer of at least 0",
            Self::Types => "a type of JSON, or a list of types",
            Self::Values => "a list with at least one value",
            Self::Names => "a list of strings",
            Self::Schema => "a schema",
            Self::SchemaList => "a list with at least one schema",
            Self::SchemaMap => "an object of schemas",
        }
    }
}

fn is_type(value: &Value) -> bool {
    value.as_str().is_some_and(|name| TYPES.contains(&name))
}
