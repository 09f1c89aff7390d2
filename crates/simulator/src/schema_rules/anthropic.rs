//! Anthropic's schemas of structured outputs and strict tools.

use serde_json::Value;

use super::{
    has_type, is_recursive, is_root_combined, property_names, required_names, resolve, subschemas,
};

const MAX_OPTIONAL_PROPERTIES: usize = 24;
const MAX_UNIONS: usize = 16;

const REFUSED_KEYWORDS: [(&str, &[&str]); 4] = [
    (
        "number",
        &[
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
        ],
    ),
    (
        "integer",
        &[
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
        ],
    ),
    ("string", &["minLength", "maxLength"]),
    ("array", &["maxItems", "uniqueItems"]),
];

const REFUSED_EVERYWHERE: [&str; 5] = ["not", "if", "then", "else", "oneOf"];

const FORMATS: [&str; 10] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "uri",
    "ipv4",
    "ipv6",
    "uuid",
];

/// An error says what is wrong, as Anthropic does after the name of the field.
pub fn check_anthropic_schema(root: &Value) -> Result<(), String> {
    if !has_type(root, "object") {
        return Err("Schema must be of type 'object'".to_owned());
    }
    if is_recursive(root) {
        return Err("Recursive schemas are not supported".to_owned());
    }
    let (mut optional, mut unions) = (0, 0);
    for found in subschemas(root) {
        let schema = found.schema;
        check_keywords(schema)?;
        check_references(schema, root)?;
        let required = required_names(schema);
        let names = property_names(schema);
        optional += names.iter().filter(|name| !required.contains(name)).count();
        let is_union =
            schema.get("anyOf").is_some() || schema.get("type").is_some_and(Value::is_array);
        unions += usize::from(is_union);
    }
    if optional > MAX_OPTIONAL_PROPERTIES {
        return Err(format!(
            "Schemas contains too many optional parameters ({optional}), which would make grammar compilation inefficient. Reduce the number of optional parameters in your tool schemas (limit: 24)."
        ));
    }
    if unions > MAX_UNIONS {
        return Err(format!(
            "Schemas contains too many parameters with union types ({unions} parameters with type arrays or anyOf) (limit: 16)."
        ));
    }
    Ok(())
}

/// The rules for the schema of any tool, strict or not.
pub fn check_anthropic_tool(root: &Value) -> Result<(), String> {
    if is_root_combined(root) {
        return Err(
            "input_schema does not support oneOf, allOf, or anyOf at the top level".to_owned(),
        );
    }
    Ok(())
}

fn check_keywords(schema: &Value) -> Result<(), String> {
    for (name, keywords) in REFUSED_KEYWORDS {
        let refused = keywords.iter().find(|it| schema.get(**it).is_some());
        if let Some(keyword) = refused.filter(|_| has_type(schema, name)) {
            return Err(format!(
                "For '{name}' type, property '{keyword}' is not supported"
            ));
        }
    }
    if let Some(keyword) = REFUSED_EVERYWHERE
        .iter()
        .find(|it| schema.get(**it).is_some())
    {
        return Err(format!("Schema keyword '{keyword}' is not supported"));
    }
    let min_items = schema.get("minItems").and_then(Value::as_u64);
    if min_items.is_some_and(|count| count > 1) {
        return Err(
            "For 'array' type, 'minItems' values other than 0 or 1 are not supported".to_owned(),
        );
    }
    let format = schema.get("format").and_then(Value::as_str);
    if let Some(format) = format.filter(|it| !FORMATS.contains(it)) {
        return Err(format!(
            "For 'string' type, format '{format}' is not supported"
        ));
    }
    if has_type(schema, "object") && schema.get("additionalProperties") != Some(&Value::Bool(false))
    {
        return Err(
            "For 'object' type, 'additionalProperties' must be explicitly set to false".to_owned(),
        );
    }
    Ok(())
}

fn check_references(schema: &Value, root: &Value) -> Result<(), String> {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str)
        && resolve(root, reference).is_none()
    {
        return Err(format!(
            "External or unknown $ref '{reference}' is not supported"
        ));
    }
    let parts = schema.get("allOf").and_then(Value::as_array);
    if parts
        .into_iter()
        .flatten()
        .any(|part| part.get("$ref").is_some())
    {
        return Err("'allOf' with '$ref' is not supported".to_owned());
    }
    Ok(())
}
