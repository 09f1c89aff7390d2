//! Payloads of callbacks that a receiver must cope with.

use serde_json::{Value, json};

const MEGABYTE: usize = 1024 * 1024;

/// A callback with an answer of a chat model.
pub fn success(cargo_id: &str, text: &str) -> Value {
    json!({
        "cargo_id": cargo_id,
        "success": true,
        "response": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "content": [{"type": "text", "text": text}],
            "model": "svc-mock",
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 3, "output_tokens": 5},
        },
        "error": null,
    })
}

pub fn failure(cargo_id: &str) -> Value {
    json!({"cargo_id": cargo_id, "success": false, "response": null, "error": "cancelled"})
}

pub fn embedding(cargo_id: &str) -> Value {
    json!({
        "cargo_id": cargo_id,
        "success": true,
        "response": {
            "type": "embedding",
            "model": "svc-mock-embedding",
            "embeddings": [[0.25, -0.5]],
            "usage": {"input_tokens": 3, "output_tokens": 0},
        },
        "error": null,
    })
}

/// The callback of a completed group.
pub fn group_completed(group_id: &str) -> Value {
    json!({
        "type": "group.completed",
        "group_id": group_id,
        "name": "receiver-check",
        "status": "completed",
        "completed_at": "2026-11-15T09:30:00.000000Z",
        "counts": {"total": 1, "unfinished": 0, "succeeded": 1, "failed": 0, "cancelled": 0},
        "metadata": null,
    })
}

/// Unusual payloads by name, each with its own cargo.
pub fn unusual(next_id: &mut impl FnMut() -> String) -> Vec<(&'static str, String, Value)> {
    let mut list = Vec::new();
    let mut add = |name: &'static str, build: &dyn Fn(&str) -> Value| {
        let id = next_id();
        let payload = build(&id);
        list.push((name, id, payload));
    };
    add("unknown field", &|id| {
        with_field(success(id, "a"), "a_new_field", json!({"a": 1}))
    });
    add("metadata", &|id| {
        with_field(success(id, "a"), "metadata", json!({"order": 7}))
    });
    add("U+0000", &|id| success(id, "a\u{0}b"));
    add("U+2028", &|id| success(id, "a\u{2028}b"));
    add("emoji", &|id| success(id, "🚢"));
    add("1 MB", &|id| success(id, &"a".repeat(MEGABYTE)));
    add("8 MB", &|id| success(id, &"a".repeat(8 * MEGABYTE)));
    list
}

fn with_field(mut payload: Value, name: &str, value: Value) -> Value {
    if let Some(fields) = payload.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
    payload
}
