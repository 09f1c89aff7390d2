//! One result as Anthropic writes it.

use domain::reason_code::FailureCode;
use serde_json::{Map, Value, json};
use store::shard::group::GroupResultRow;
use store::shard::tracking::StoredOutcome;

/// Failures that another request would not have.
const FAULTS: &[FailureCode] = &[
    FailureCode::RequestRejected,
    FailureCode::UnsupportedRequest,
    FailureCode::RequestTooLarge,
    FailureCode::FileMissing,
    FailureCode::ContentBlocked,
    FailureCode::UnsupportedStop,
    FailureCode::ModelUnavailable,
];

/// Adds the result of a row as a line. All rows of an ended batch have one.
pub(super) fn push_result(row: GroupResultRow, lines: &mut Vec<u8>) {
    let custom_id = row.custom_id.unwrap_or_else(|| row.position.to_string());
    let Some(outcome) = row.outcome else {
        return;
    };
    let result = if row.erased_at.is_some() {
        errored(
            "not_found_error",
            "The result was erased by the retention of the project.",
        )
    } else {
        result_of(&outcome)
    };
    let line = json!({"custom_id": custom_id, "result": result});
    lines.extend_from_slice(line.to_string().as_bytes());
    lines.push(b'\n');
}

fn result_of(outcome: &StoredOutcome) -> Value {
    if outcome.success {
        return match serde_json::from_slice::<Map<String, Value>>(&outcome.body) {
            Ok(message) => json!({"type": "succeeded", "message": complete_message(message)}),
            Err(_) => errored("api_error", "The stored result cannot be read."),
        };
    }
    let code = outcome.failure_code.as_deref();
    let is = |expected: &FailureCode| code == Some(expected.as_str());
    if is(&FailureCode::Cancelled) {
        return json!({"type": "canceled"});
    }
    if is(&FailureCode::DeadlineExceeded) {
        return json!({"type": "expired"});
    }
    let kind = if FAULTS.iter().any(is) {
        "invalid_request_error"
    } else {
        "api_error"
    };
    errored(kind, &String::from_utf8_lossy(&outcome.body))
}

fn errored(kind: &str, message: &str) -> Value {
    let error = json!({"type": kind, "message": message});
    let error = json!({"type": "error", "error": error, "request_id": null});
    json!({"type": "errored", "error": error})
}

/// Adds the fields that Anthropic always has. Its `input_tokens` are those beside the cache; ours
/// are all.
fn complete_message(mut message: Map<String, Value>) -> Map<String, Value> {
    message.entry("stop_sequence").or_insert(Value::Null);
    let usage = message.remove("usage");
    let count = |path: &str| {
        let count = usage.as_ref().and_then(|usage| usage.pointer(path));
        count.and_then(Value::as_u64).unwrap_or_default()
    };
    let read = count("/input_tokens_details/cached_tokens");
    let written = count("/input_tokens_details/cache_write_tokens");
    let input = count("/input_tokens").saturating_sub(read + written);
    let usage = json!({
        "input_tokens": input,
        "output_tokens": count("/output_tokens"),
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "service_tier": "batch",
    });
    message.insert("usage".to_owned(), usage);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_all_fields_that_their_clients_read() {
        let stored = json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": [{"type": "text", "text": "a"}], "stop_reason": "end_turn",
            "usage": {"input_tokens": 9, "output_tokens": 5,
                "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 2}},
        });
        let Value::Object(stored) = stored else {
            return;
        };
        let message = complete_message(stored);
        assert_eq!(message["stop_sequence"], Value::Null);
        let expected = json!({
            "input_tokens": 4, "output_tokens": 5, "cache_creation_input_tokens": 2,
            "cache_read_input_tokens": 3, "service_tier": "batch",
        });
        assert_eq!(message["usage"], expected);
        assert_eq!(message["content"][0]["text"], "a");
    }
}
