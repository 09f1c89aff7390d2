//! Schemas of Gemini: it ignores constraints that it does not know, so those are not in its list.

use serde_json::{Map, Value};

use crate::field_refusal::FieldPath;
use crate::schema_dialect::node_rules::{check_enum, check_reference_siblings};
use crate::schema_dialect::subschemas::list_subschemas;
use crate::schema_dialect::{FaultList, MAX_SCHEMA_DEPTH};

pub(super) fn check_node(node: &Map<String, Value>, place: FieldPath<'_>, faults: &mut FaultList) {
    let is_supported = |value: &Value| value.is_string() || value.is_number();
    let message = "enum may contain strings and numbers only";
    check_enum(node, place, is_supported, message, faults);
    check_reference_siblings(node, place, may_accompany_reference, faults);
}

/// What stands beside references, in this schema and in all schemas in it.
pub(super) fn check_siblings(
    node: &Map<String, Value>,
    place: FieldPath<'_>,
    depth: usize,
    faults: &mut FaultList,
) {
    if depth > MAX_SCHEMA_DEPTH {
        return;
    }
    check_reference_siblings(node, place, may_accompany_reference, faults);
    for subschema in list_subschemas(node) {
        let keyword_place = place.key(subschema.keyword);
        if let Value::Object(inner) = subschema.value {
            let below = subschema.step.below(&keyword_place);
            check_siblings(inner, below, depth + 1, faults);
        }
    }
}

fn may_accompany_reference(keyword: &str) -> bool {
    keyword.starts_with('$')
}
