//! Token counts in `OpenAI`'s words. Every detail is present, as clients read them unguarded.

use domain::outcome::{ReportedUsage, TokenUsage};
use serde_json::{Value, json};

pub(super) fn chat_usage(usage: ReportedUsage) -> Value {
    let details = TokenDetails::of(usage);
    json!({
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": total(usage.totals()),
        "prompt_tokens_details": {"cached_tokens": details.cached, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": details.thinking, "audio_tokens": 0,
            "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
        },
    })
}

pub(super) fn responses_usage(usage: ReportedUsage) -> Value {
    let details = TokenDetails::of(usage);
    json!({
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {
            "cached_tokens": details.cached, "cache_write_tokens": details.cache_write,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": details.thinking},
        "total_tokens": total(usage.totals()),
    })
}

pub(super) fn embedding_usage(usage: TokenUsage) -> Value {
    json!({"prompt_tokens": usage.input_tokens, "total_tokens": total(usage)})
}

const fn total(usage: TokenUsage) -> u64 {
    usage.input_tokens.saturating_add(usage.output_tokens)
}

/// The parts of the totals; 0 where the answer has none.
struct TokenDetails {
    cached: u64,
    cache_write: u64,
    thinking: u64,
}

impl TokenDetails {
    fn of(usage: ReportedUsage) -> Self {
        let input = usage.input_tokens_details.unwrap_or_default();
        let output = usage.output_tokens_details.unwrap_or_default();
        Self {
            cached: input.cached_tokens,
            cache_write: input.cache_write_tokens,
            thinking: output.thinking_tokens,
        }
    }
}
