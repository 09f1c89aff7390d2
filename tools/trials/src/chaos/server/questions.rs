//! What the model is asked, and whether what the caller got is what the model's server said.

use serde_json::{Value, json};

use crate::chaos::server::register::Said;

/// What callers name.
pub const MODEL: &str = "trial-smollm2";
/// Each has room for an answer that is small, or for the beginning of one that is not.
const QUESTIONS: [(&str, u64); 4] = [
    ("Reply with one word: yes or no?", 24),
    ("Tell a long story of the harbour.", 16),
    ("What is 2+2? Answer with one number.", 24),
    ("List all the ships that you know of.", 16),
];

/// The body of a load, and the text by which it is told from others.
pub fn load(number: usize, callback_url: &str) -> (String, String) {
    let turn = QUESTIONS.get(number % QUESTIONS.len());
    let (question, most) = turn.copied().unwrap_or_default();
    let text = format!("{question} ({number})");
    // Its answers are poor, so let them at least be the same.
    let params = json!({"model": MODEL, "max_tokens": most, "temperature": 0.0,
        "messages": [{"role": "user", "content": text}]});
    let body = json!({"params": params, "callback_url": callback_url});
    (body.to_string(), text)
}

/// What is wrong with a callback, given what the model's server said about this cargo.
pub fn wrong(body: &Value, said: &[Said]) -> Option<String> {
    let text = body.pointer("/response/content/0/text");
    let is_said = text
        .and_then(Value::as_str)
        .is_some_and(|it| !it.is_empty());
    let is_ours = body.pointer("/response/model").and_then(Value::as_str) == Some(MODEL);
    let told = (
        stop_reason(body),
        tokens(body, "input"),
        tokens(body, "output"),
    );
    let is_right = said.iter().any(|one| {
        let reason = match one.finish_reason.as_str() {
            "length" => "max_tokens",
            "stop" => "end_turn",
            _ => return false,
        };
        told == (reason, one.prompt_tokens, one.completion_tokens) && one.completion_tokens > 0
    });
    (!is_said || !is_ours || !is_right).then(|| format!("{body}, but the server said {said:?}"))
}

pub fn stop_reason(body: &Value) -> &str {
    let reason = body.pointer("/response/stop_reason");
    reason.and_then(Value::as_str).unwrap_or_default()
}

/// Of the input or of the output.
pub fn tokens(body: &Value, which: &str) -> u64 {
    let count = body.pointer(&format!("/response/usage/{which}_tokens"));
    count.and_then(Value::as_u64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_reason_or_another_usage_is_wrong() {
        let body = json!({"success": true, "response": {"model": MODEL, "stop_reason": "max_tokens",
            "content": [{"type": "text", "text": "a"}], "usage": {"input_tokens": 3, "output_tokens": 2}}});
        let said = |reason: &str, completion_tokens| Said {
            finish_reason: reason.to_owned(),
            prompt_tokens: 3,
            completion_tokens,
        };
        assert_eq!(wrong(&body, &[said("stop", 2), said("length", 2)]), None);
        for said in [said("stop", 2), said("length", 1), said("", 2)] {
            assert!(wrong(&body, &[said]).is_some());
        }
    }
}
