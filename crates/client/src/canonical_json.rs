//! JSON with sorted keys and without spaces: the same value has the same bytes in every process.

use bytes::Bytes;
use serde_json::Value;

pub fn to_bytes(value: &Value) -> Bytes {
    Bytes::from(to_text(value))
}

pub fn to_text(value: &Value) -> String {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    sorted.to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sorted_at_every_depth() {
        let value = json!({"b": [{"z": 1, "a": 0.5}], "a": "é"});
        assert_eq!(to_text(&value), r#"{"a":"é","b":[{"a":0.5,"z":1}]}"#);
    }
}
