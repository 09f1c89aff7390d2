//! Strict schemas of `OpenAI`: every property is required, and sizes are limited.

use serde_json::{Map, Value};

use crate::field_refusal::FieldPath;
use crate::schema_dialect::FaultList;
use crate::schema_dialect::node_rules::{
    check_enum, check_format, check_reference_siblings, is_primitive, looks_around, properties,
    require_closed_object, require_type, required_names,
};
use crate::schema_dialect::schema_size::SchemaSize;

const MAX_PROPERTIES: usize = 5_000;
const MAX_NESTING: usize = 10;
const MAX_ENUM_VALUES: usize = 1_000;
const MAX_NAME_CHARACTERS: usize = 120_000;
/// From this many values on, an `enum` has a limit of its own.
const LONG_ENUM_VALUES: usize = 250;
const MAX_LONG_ENUM_CHARACTERS: usize = 15_000;

const FORMATS: [&str; 9] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
];

pub(super) fn check_node(node: &Map<String, Value>, place: FieldPath<'_>, faults: &mut FaultList) {
    require_closed_object(node, place, faults);
    require_all_properties(node, place, faults);
    require_type(node, place, faults);
    check_format(node, place, &FORMATS, faults);
    let message = "enum may contain strings, numbers, booleans and null only";
    check_enum(node, place, is_primitive, message, faults);
    let is_definition = |keyword: &str| matches!(keyword, "$ref" | "$defs" | "definitions");
    check_reference_siblings(node, place, is_definition, faults);
    let pattern = node.get("pattern").and_then(Value::as_str);
    if pattern.is_some_and(looks_around) {
        let message = "The model does not support lookaround and backreferences in a pattern";
        faults.add(place.key("pattern"), "pattern", message);
    }
    check_long_enum(node, place, faults);
}

fn require_all_properties(node: &Map<String, Value>, place: FieldPath<'_>, faults: &mut FaultList) {
    let Some(properties) = properties(node) else {
        return;
    };
    let required = required_names(node);
    let keyword_place = place.key("properties");
    for name in properties.keys() {
        if !required.contains(name.as_str()) {
            let message = "Every property must be in required: for an optional value, add null to \
                           its type";
            faults.add(keyword_place.key(name), "required", message);
        }
    }
}

fn check_long_enum(node: &Map<String, Value>, place: FieldPath<'_>, faults: &mut FaultList) {
    let Some(values) = node.get("enum").and_then(Value::as_array) else {
        return;
    };
    let texts = values.iter().filter_map(Value::as_str);
    let characters: usize = texts.map(|text| text.chars().count()).sum();
    if values.len() > LONG_ENUM_VALUES && characters > MAX_LONG_ENUM_CHARACTERS {
        let message = format!(
            "An enum with more than {LONG_ENUM_VALUES} values may have at most \
             {MAX_LONG_ENUM_CHARACTERS} characters"
        );
        faults.add(place.key("enum"), "enum", message);
    }
}

pub(super) fn check_size(size: SchemaSize, faults: &mut FaultList) {
    let limits = [
        ("properties", size.properties, MAX_PROPERTIES, "properties"),
        (
            "properties",
            size.nesting,
            MAX_NESTING,
            "levels of objects and arrays",
        ),
        ("enum", size.enum_values, MAX_ENUM_VALUES, "values of enums"),
        (
            "properties",
            size.name_characters,
            MAX_NAME_CHARACTERS,
            "characters in names and values of enums",
        ),
    ];
    for (keyword, count, limit, noun) in limits {
        if count > limit {
            let message = format!("A schema may have at most {limit} {noun}");
            faults.add(FieldPath::Root, keyword, message);
        }
    }
}
