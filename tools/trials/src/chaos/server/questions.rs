//! The questions to the model, and whether a callback has what the model's server answered.

use serde_json::{Value, json};

use crate::harness::LoggedAnswer;

/// The model's name for callers.
pub const MODEL: &str = "trial-smollm2";
/// Some have short answers; the others reach the maximum of tokens.
const QUESTIONS: [(&str, u64); 4] = [
    ("Reply with one word: yes or no?", 24),
    ("Tell a long story of the example.", 16),
    ("What is 2+2? Answer with one number.", 24),
    ("List all the ships that you know of.", 16),
];

/// The body of a load, and its unique text.
pub fn build_load(number: usize, callback_url: &str) -> (String, String) {
    let turn = QUESTIONS.get(number % QUESTIONS.len());
    let (question, most) = turn.copied().unwrap_or_default();
    let text = format!("{question} ({number})");
    // A temperature of zero makes the answers repeatable.
    let params = json!({"model": MODEL, "max_tokens": most, "temperature": 0.0,
        "messages": [{"role": "user", "content": text}]});
    let body = json!({"params": params, "callback_url": callback_url});
    (body.to_string(), text)
}

/// What is wrong with a callback, compared with the answers of the model's server to this
/// cargo.
pub fn find_mismatch(body: &Value, answers: &[LoggedAnswer]) -> Option<String> {
    let text = body.pointer("/response/content/0/text");
    let is_said = text
        .and_then(Value::as_str)
        .is_some_and(|it| !it.is_empty());
    let is_ours = body.pointer("/response/model").and_then(Value::as_str) == Some(MODEL);
    let reported = (
        stop_reason(body),
        token_count(body, "input"),
        token_count(body, "output"),
    );
    let is_right = answers.iter().any(|one| {
        let reason = match one.finish_reason.as_str() {
            "length" => "max_tokens",
            "stop" => "end_turn",
            _ => return false,
        };
        reported == (reason, one.prompt_tokens, one.completion_tokens) && one.completion_tokens > 0
    });
    (!is_said || !is_ours || !is_right).then(|| format!("{body}, but the server said {answers:?}"))
}

pub fn stop_reason(body: &Value) -> &str {
    let reason = body.pointer("/response/stop_reason");
    reason.and_then(Value::as_str).unwrap_or_default()
}

/// Of the input or of the output.
pub fn token_count(body: &Value, which: &str) -> u64 {
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
        let answer = |reason: &str, completion_tokens| LoggedAnswer {
            finish_reason: reason.to_owned(),
            prompt_tokens: 3,
            completion_tokens,
        };
        assert_eq!(
            find_mismatch(&body, &[answer("stop", 2), answer("length", 2)]),
            None
        );
        for answer in [answer("stop", 2), answer("length", 1), answer("", 2)] {
            assert!(find_mismatch(&body, &[answer]).is_some());
        }
    }
}
