//! Schemas of Gemini: it ignores constraints that it does not know, so those are not in its list.

use serde_json::{Map, Value};

use crate::field_refusal::FieldPath;
use crate::schema_dialect::FaultList;
use crate::schema_dialect::node_rules::{check_enum, check_reference_siblings};

pub(super) fn check_node(node: &Map<String, Value>, place: FieldPath<'_>, faults: &mut FaultList) {
    let is_supported = |value: &Value| value.is_string() || value.is_number();
    let message = "enum may contain strings and numbers only";
    check_enum(node, place, is_supported, message, faults);
    check_siblings(node, place, faults);
}

/// What stands beside a reference.
pub(super) fn check_siblings(
    node: &Map<String, Value>,
    place: FieldPath<'_>,
    faults: &mut FaultList,
) {
    check_reference_siblings(node, place, may_accompany_reference, faults);
}

fn may_accompany_reference(keyword: &str) -> bool {
    keyword.starts_with('$')
}
