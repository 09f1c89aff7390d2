//! Counts that a directive replaces.

use serde_json::{Value, json};

use crate::rule::UsageStyle;

/// Every number as null or as a string, if the style says so.
pub(super) fn styled(usage: Value, style: UsageStyle) -> Value {
    let replace: fn(&Value) -> Value = match style {
        UsageStyle::Usual
        | UsageStyle::Inclusive
        | UsageStyle::Exclusive
        | UsageStyle::CachedOver => return usage,
        UsageStyle::Null => |_: &Value| Value::Null,
        UsageStyle::Strings => |number: &Value| json!(number.to_string()),
    };
    replace_numbers(usage, replace)
}

fn replace_numbers(value: Value, replace: fn(&Value) -> Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, replace_numbers(value, replace)))
            .collect(),
        Value::Number(_) => replace(&value),
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) => value,
    }
}
