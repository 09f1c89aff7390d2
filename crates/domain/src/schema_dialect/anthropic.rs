//! Strict schemas of Anthropic: no recursion, no limits of numbers and texts, few optional properties.

use serde_json::{Map, Value};

use crate::field_refusal::FieldPath;
use crate::schema_dialect::FaultList;
use crate::schema_dialect::node_rules::{
    check_enum, check_format, has_escape, is_primitive, looks_around, require_closed_object,
    require_type,
};
use crate::schema_dialect::schema_size::SchemaSize;

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

pub(super) fn check_node(node: &Map<String, Value>, place: FieldPath<'_>, faults: &mut FaultList) {
    require_closed_object(node, place, faults);
    require_type(node, place, faults);
    check_format(node, place, &FORMATS, faults);
    let message = "enum may contain strings, numbers, booleans and null only";
    check_enum(node, place, is_primitive, message, faults);
    let least = node.get("minItems").and_then(Value::as_u64);
    if least.is_some_and(|least| least > 1) {
        let message = "The model supports minItems of 0 and 1 only";
        faults.add(place.key("minItems"), "minItems", message);
    }
    let pattern = node.get("pattern").and_then(Value::as_str);
    if pattern.is_some_and(|it| looks_around(it) || has_escape(it, |it| matches!(it, 'b' | 'B'))) {
        let message = "The model does not support lookaround, backreferences and word boundaries \
                       in a pattern";
        faults.add(place.key("pattern"), "pattern", message);
    }
    let parts = node.get("allOf").and_then(Value::as_array);
    let keyword_place = place.key("allOf");
    for (index, part) in parts.into_iter().flatten().enumerate() {
        if part.get("$ref").is_some() {
            let message = "The model does not support $ref in allOf";
            faults.add(keyword_place.index(index).key("$ref"), "$ref", message);
        }
    }
}

pub(super) fn check_size(size: SchemaSize, faults: &mut FaultList) {
    if let Some(message) = size.excess_for_anthropic() {
        faults.add(FieldPath::Root, "properties", message);
    }
}
