//! Lines of results that a provider got wrong.

use proptest::prelude::*;
use serde_json::json;

use super::{PATIENCE, every, item};

/// A good line of each, in the order of `every`.
fn good() -> [String; 3] {
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
    /// Whatever stands there, it is read or it is not; it is never taken for another's.
    #[test]
    fn a_line_with_other_bytes_in_it_is_nobody_elses(
        at: prop::sample::Index,
        with in prop::collection::vec(any::<u8>(), 0..8),
        length in 0_usize..30,
    ) {
        for (provider, line) in every("http://127.0.0.1:1", PATIENCE).iter().zip(good()) {
            let whose = |line: &[u8]| provider.decode(line, "ours").map(|(key, _)| key);
            prop_assert_eq!(whose(line.as_bytes()), Ok(item(1, "").key()));
            let at = at.index(line.len());
            let mut bytes = line.into_bytes();
            let end = (at + length).min(bytes.len());
            bytes.splice(at..end, with.iter().copied());
            if let Ok(key) = whose(&bytes) {
                let name = key.to_string();
                prop_assert!(bytes.windows(name.len()).any(|part| part == name.as_bytes()));
            }
        }
    }
}
