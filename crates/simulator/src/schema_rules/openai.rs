//! `OpenAI`'s strict schemas.

use serde_json::Value;

use super::{has_type, is_root_combined, property_names, required_names, resolve, subschemas};

const MAX_DEPTH: usize = 10;
const MAX_PROPERTIES: usize = 5000;
const MAX_ENUM_VALUES: usize = 1000;

const REFUSED_KEYWORDS: [&str; 9] = [
    "allOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
];

/// An error says what is wrong, as `OpenAI` does after `Invalid schema for …:`.
pub fn check_openai_schema(root: &Value) -> Result<(), String> {
    if !has_type(root, "object") || root.get("anyOf").is_some() {
        return Err(
            "schema must be a JSON Schema of 'type: \"object\"', got a union or another type."
                .to_owned(),
        );
    }
    let (mut properties, mut enum_values) = (0, 0);
    for found in subschemas(root) {
        let schema = found.schema;
        let path: Vec<String> = found.path.iter().map(|it| format!("'{it}'")).collect();
        let context = format!("In context=({})", path.join(", "));
        if found.depth > MAX_DEPTH {
            return Err(format!(
                "{context}, schema has more than 10 levels of nesting."
            ));
        }
        if let Some(keyword) = REFUSED_KEYWORDS
            .iter()
            .find(|it| schema.get(**it).is_some())
        {
            return Err(format!("{context}, '{keyword}' is not permitted."));
        }
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str)
            && resolve(root, reference).is_none()
        {
            return Err(format!(
                "{context}, reference to '{reference}' is not found."
            ));
        }
        if has_type(schema, "object") {
            check_object(schema, &context)?;
        }
        properties += property_names(schema).len();
        enum_values += schema
            .get("enum")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
    }
    if properties > MAX_PROPERTIES {
        return Err("schema has more than 5000 properties.".to_owned());
    }
    if enum_values > MAX_ENUM_VALUES {
        return Err("schema has more than 1000 enum values.".to_owned());
    }
    Ok(())
}

/// The rules for the schema of any function, strict or not.
pub fn check_openai_tool(root: &Value) -> Result<(), String> {
    if root.get("type").and_then(Value::as_str) != Some("object") {
        let kind = root.get("type").unwrap_or(&Value::Null);
        return Err(format!(
            "schema must be a JSON Schema of 'type: \"object\"', got 'type: {kind}'."
        ));
    }
    if is_root_combined(root) {
        return Err(
            "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
                .to_owned(),
        );
    }
    let all = subschemas(root).into_iter();
    let mut lists = all.filter(|it| has_type(it.schema, "array"));
    match lists.find(|it| it.schema.get("items").is_none()) {
        Some(list) => {
            let path: Vec<String> = list.path.iter().map(|it| format!("'{it}'")).collect();
            Err(format!(
                "In context=({}), array schema missing items.",
                path.join(", ")
            ))
        }
        None => Ok(()),
    }
}

fn check_object(schema: &Value, context: &str) -> Result<(), String> {
    if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
        return Err(format!(
            "{context}, 'additionalProperties' is required to be supplied and to be false."
        ));
    }
    let required = required_names(schema);
    let names = property_names(schema);
    match names.into_iter().find(|name| !required.contains(name)) {
        Some(missing) => Err(format!(
            "{context}, 'required' is required to be supplied and to be an array including every key in properties. Missing '{missing}'."
        )),
        None => Ok(()),
    }
}
