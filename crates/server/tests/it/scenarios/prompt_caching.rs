//! Cached prompts: their tokens are counted and charged in buckets of their own.

use serde_json::{Value, json};

use super::conversation::{CALLER_PRICES, ChatKind, Conversation};

/// Long enough for every count below.
fn question(directives: &str) -> String {
    format!("{} {directives}", "Where are the crates? ".repeat(40))
}

fn details(response: &Value) -> &Value {
    &response["usage"]["input_tokens_details"]
}

#[tokio::test]
async fn tokens_from_a_cache_are_charged_at_their_own_price() {
    for kind in ChatKind::ALL {
        let mut conversation = Conversation::start(kind).await;
        conversation.say("user", question("[sim:cached 128]"));
        let params = json!({"output_config": {"effort": "low"}});
        let response = conversation.ask_successfully(&params).await;
        assert_eq!(
            *details(&response),
            json!({"cached_tokens": 128}),
            "{kind:?}"
        );
        conversation.assert_booked_as_billed().await;
    }
}

#[tokio::test]
async fn tokens_written_to_a_cache_are_charged_at_their_own_price() {
    for kind in ChatKind::ALL.into_iter().filter(|it| it.has_cache_marks()) {
        let mut conversation = Conversation::start(kind).await;
        conversation.say("user", question("[sim:cached 128] [sim:write 16]"));
        let params = json!({"output_config": {"effort": "low"}});
        let response = conversation.ask_successfully(&params).await;
        let counts = json!({"cached_tokens": 128, "cache_write_tokens": 16});
        assert_eq!(*details(&response), counts, "{kind:?}");
        conversation.assert_booked_as_billed().await;
    }
}

/// The answer of a plain request has two counts, but its charge follows from all buckets.
#[tokio::test]
async fn a_plain_request_pays_the_price_of_cached_tokens_too() {
    for kind in ChatKind::ALL {
        let mut conversation = Conversation::start(kind).await;
        conversation.say("user", question("[sim:cached 128]"));
        let record = conversation.ask(&json!({})).await;
        let usage = &record["response"]["usage"];
        assert_eq!(usage["input_tokens_details"], Value::Null, "{kind:?}");
        let mut whole = usage.clone();
        whole["input_tokens_details"] = json!({"cached_tokens": 128});
        let charge = CALLER_PRICES.of_usage(&whole);
        assert_eq!(record["cost"]["charged"], charge, "{kind:?}");
        conversation.assert_booked_as_billed().await;
    }
}

/// The simulated provider keeps a cache: it writes the marked prompt once and then reads it.
#[tokio::test]
async fn a_marked_prompt_is_written_once_and_then_read() {
    for kind in ChatKind::ALL.into_iter().filter(|it| it.has_cache_marks()) {
        let mut conversation = Conversation::start(kind).await;
        let prompt = "You know every crate of this port. ".repeat(300);
        let params = json!({
            "system": [{"type": "text", "text": prompt, "cache_control": {"type": "ephemeral"}}],
            "output_config": {"effort": "low"},
        });
        conversation.say("user", "Where is crate 7?");
        let response = conversation.ask_successfully(&params).await;
        let written = details(&response)["cache_write_tokens"].clone();
        assert!(written.as_u64() > Some(1024), "{kind:?} {response}");
        conversation.restart();
        conversation.say("user", "Where is crate 8?");
        let response = conversation.ask_successfully(&params).await;
        assert_eq!(
            *details(&response),
            json!({"cached_tokens": written}),
            "{kind:?}"
        );
        conversation.assert_booked_as_billed().await;
    }
}
