//! Result lines may contain anything.

use proptest::prelude::*;
use serde_json::json;

use super::{TIMEOUTS, batch_providers, item};

/// A valid result line of each provider, in the order of `batch_providers`.
fn valid_result_lines() -> [String; 3] {
    let key = item(1, "").key().to_string();
    let body = json!({
        "choices": [{"message": {"content": "t"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    });
    let message = json!({
        "content": [{"type": "text", "text": "t"}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 2},
    });
    let response = json!({
        "candidates": [{"content": {"parts": [{"text": "t"}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2},
    });
    [
        json!({"custom_id": key, "response": {"status_code": 200, "body": body}}).to_string(),
        json!({"custom_id": key, "result": {"type": "succeeded", "message": message}}).to_string(),
        json!({"key": key, "response": response}).to_string(),
    ]
}

proptest! {
    /// A changed line is decoded or refused, but never matched to another item.
    #[test]
    fn a_changed_line_never_belongs_to_another_item(
        at: prop::sample::Index,
        with in prop::collection::vec(any::<u8>(), 0..8),
        length in 0_usize..30,
    ) {
        for (provider, line) in batch_providers("http://127.0.0.1:1", TIMEOUTS).iter().zip(valid_result_lines()) {
            let item_of = |line: &[u8]| provider.decode_result(line).map(|(key, _)| key);
            prop_assert_eq!(item_of(line.as_bytes()), Ok(item(1, "").key()));
            let at = at.index(line.len());
            let mut bytes = line.into_bytes();
            let end = (at + length).min(bytes.len());
            bytes.splice(at..end, with.iter().copied());
            if let Ok(key) = item_of(&bytes) {
                let name = key.to_string();
                prop_assert!(bytes.windows(name.len()).any(|part| part == name.as_bytes()));
            }
        }
    }
}
