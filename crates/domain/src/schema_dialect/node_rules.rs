//! Rules for one schema that several dialects have in common.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::field_refusal::FieldPath;
use crate::schema_dialect::FaultList;

pub(super) fn has_type(node: &Map<String, Value>, name: &str) -> bool {
    match node.get("type") {
        Some(Value::String(one)) => one == name,
        Some(Value::Array(several)) => several.iter().any(|one| one == name),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => false,
    }
}

/// Whether the schema describes an object.
pub(super) fn is_object(node: &Map<String, Value>) -> bool {
    has_type(node, "object") || node.contains_key("properties")
}

pub(super) fn required_names(node: &Map<String, Value>) -> HashSet<&str> {
    let names = node.get("required").and_then(Value::as_array);
    let names = names.into_iter().flatten();
    names.filter_map(Value::as_str).collect()
}

pub(super) fn properties(node: &Map<String, Value>) -> Option<&Map<String, Value>> {
    node.get("properties").and_then(Value::as_object)
}

/// An object lists all its properties, and requires only those.
pub(super) fn require_closed_object(
    node: &Map<String, Value>,
    place: FieldPath<'_>,
    faults: &mut FaultList,
) {
    if !is_object(node) {
        return;
    }
    if node.get("additionalProperties") != Some(&Value::Bool(false)) {
        let message = "An object must list its properties and have additionalProperties: false";
        faults.add_at_key(place, node, "additionalProperties", message);
    }
    let keyword_place = place.key("required");
    let names = node.get("required").and_then(Value::as_array);
    for (index, name) in names.into_iter().flatten().enumerate() {
        let is_known = name
            .as_str()
            .is_none_or(|name| properties(node).is_some_and(|all| all.contains_key(name)));
        if !is_known {
            let message = "required names a property that is not in properties";
            faults.add(keyword_place.index(index), "required", message);
        }
    }
}

/// A schema says what it describes, and a list what it contains.
pub(super) fn require_type(
    node: &Map<String, Value>,
    place: FieldPath<'_>,
    faults: &mut FaultList,
) {
    const DESCRIBING: [&str; 7] = [
        "type",
        "enum",
        "const",
        "anyOf",
        "allOf",
        "$ref",
        "properties",
    ];
    if !DESCRIBING.iter().any(|keyword| node.contains_key(*keyword)) {
        faults.add(place, "type", "A schema must have a type");
    }
    require_items(node, place, faults);
}

/// A list says what it contains.
pub(super) fn require_items(
    node: &Map<String, Value>,
    place: FieldPath<'_>,
    faults: &mut FaultList,
) {
    if has_type(node, "array") && !node.contains_key("items") {
        let message = "A schema of an array must have items";
        faults.add(place, "items", message);
    }
}

pub(super) fn check_format(
    node: &Map<String, Value>,
    place: FieldPath<'_>,
    supported: &[&str],
    faults: &mut FaultList,
) {
    let format = node.get("format").and_then(Value::as_str);
    if format.is_some_and(|format| !supported.contains(&format)) {
        let message = format!(
            "The model supports only these formats: {}",
            supported.join(", ")
        );
        faults.add(place.key("format"), "format", message);
    }
}

/// Refuses values of `enum` for which `is_supported` is false.
pub(super) fn check_enum(
    node: &Map<String, Value>,
    place: FieldPath<'_>,
    is_supported: impl Fn(&Value) -> bool,
    message: &str,
    faults: &mut FaultList,
) {
    let values = node.get("enum").and_then(Value::as_array);
    let keyword_place = place.key("enum");
    for (index, value) in values.into_iter().flatten().enumerate() {
        if !is_supported(value) {
            faults.add(keyword_place.index(index), "enum", message);
        }
    }
}

pub(super) const fn is_primitive(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        Value::Array(_) | Value::Object(_) => false,
    }
}

/// Refuses keywords beside a `$ref` for which `may_accompany` is false.
pub(super) fn check_reference_siblings(
    node: &Map<String, Value>,
    place: FieldPath<'_>,
    may_accompany: impl Fn(&str) -> bool,
    faults: &mut FaultList,
) {
    if !node.contains_key("$ref") {
        return;
    }
    for keyword in node.keys() {
        if !may_accompany(keyword) {
            let message = "A schema with $ref cannot have this keyword: put it where $ref points";
            faults.add(place.key(keyword), keyword, message);
        }
    }
}

/// Whether a regular expression looks around or refers back to a group.
pub(super) fn looks_around(pattern: &str) -> bool {
    let around = ["(?=", "(?!", "(?<=", "(?<!"];
    around.iter().any(|it| pattern.contains(it))
        || has_escape(pattern, |it| matches!(it, '1'..='9'))
}

/// Whether the pattern has a backslash before such a character.
pub(super) fn has_escape(pattern: &str, is_wanted: impl Fn(char) -> bool) -> bool {
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        // The next character belongs to this backslash, even if it is another backslash.
        if character == '\\' && characters.next().is_some_and(&is_wanted) {
            return true;
        }
    }
    false
}
