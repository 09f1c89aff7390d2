//! Fields of answers as texts for people.

use serde_json::Value;

use crate::numbers::dollars;

/// The text at a pointer such as `/callback/status`, or a hyphen.
pub fn text_at(value: &Value, pointer: &str) -> String {
    match value.pointer(pointer) {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Nano-dollars at a pointer, or a hyphen.
pub fn money_at(value: &Value, pointer: &str) -> String {
    let nanos = value.pointer(pointer).and_then(Value::as_u64);
    nanos.map_or_else(|| "-".to_owned(), dollars)
}

/// To the second, without the letter between date and time.
pub fn time_at(value: &Value, pointer: &str) -> String {
    let text = text_at(value, pointer);
    let seconds = text.get(..19).unwrap_or(&text);
    seconds.replacen('T', " ", 1)
}

/// The joined text blocks of a completion.
pub fn answer_text(response: &Value) -> String {
    let blocks = response.get("content").and_then(Value::as_array);
    let texts = blocks
        .into_iter()
        .flatten()
        .filter_map(|block| block.get("text").and_then(Value::as_str));
    texts.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn absent_fields_are_hyphens() {
        let value = json!({"a": {"b": null, "c": 7}, "at": "2026-11-15T09:30:00.000000Z"});
        assert_eq!(text_at(&value, "/a/b"), "-");
        assert_eq!(text_at(&value, "/a/c"), "7");
        assert_eq!(text_at(&value, "/x"), "-");
        assert_eq!(time_at(&value, "/at"), "2026-11-15 09:30:00");
        assert_eq!(time_at(&value, "/x"), "-");
    }
}
