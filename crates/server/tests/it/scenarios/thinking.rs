//! Thinking: thoughts come back with their provider's signature, and the next turn returns them.

use serde_json::{Value, json};

use super::conversation::{ChatKind, Conversation, blocks, text};

fn params() -> Value {
    json!({"thinking": {"type": "adaptive", "display": "summarized"}})
}

const fn signature_prefix(kind: ChatKind) -> &'static str {
    match kind {
        ChatKind::Completions | ChatKind::Responses => "v1.openai.",
        ChatKind::Anthropic => "v1.anthropic.",
        ChatKind::Gemini => "v1.gemini.",
        ChatKind::Server => "v1.server.",
    }
}

/// The kinds whose answers contain thoughts.
const THINKING_KINDS: [ChatKind; 4] = [
    ChatKind::Responses,
    ChatKind::Anthropic,
    ChatKind::Gemini,
    ChatKind::Server,
];

/// The simulated providers verify every signature, so a lost or changed one fails the request.
#[tokio::test]
async fn signed_thoughts_are_returned_in_the_next_turns() {
    for kind in THINKING_KINDS {
        let mut conversation = Conversation::start(kind).await;
        conversation.say("user", "How many crates? [sim:think Count the crates.]");
        for question in [
            "And now? [sim:think Again.]",
            "And at last? [sim:think Once more.]",
        ] {
            let response = conversation.ask_successfully(&params()).await;
            let thoughts = blocks(&response, "thinking");
            assert!(!thoughts.is_empty(), "{kind:?} {response}");
            let signature = thoughts[0]["signature"].as_str().unwrap();
            let prefix = signature_prefix(kind);
            assert!(signature.starts_with(prefix), "{kind:?} {signature}");
            assert!(!text(&response).is_empty());
            // Servers do not count them.
            let counted = &response["usage"]["output_tokens_details"]["thinking_tokens"];
            let is_counted = counted.as_u64() > Some(0);
            assert!(
                is_counted || kind == ChatKind::Server,
                "{kind:?} {response}"
            );
            conversation.say("user", question);
        }
        conversation.ask_successfully(&params()).await;
        conversation.assert_booked_as_billed().await;
    }
}

#[tokio::test]
async fn thoughts_before_a_call_come_back_with_its_result() {
    for kind in THINKING_KINDS {
        let mut conversation = Conversation::start(kind).await;
        let mut params = params();
        params["tools"] = json!([{"name": "count", "input_schema": {"type": "object"}}]);
        conversation.say("user", "[sim:think Count them.] [sim:tool count {}]");
        let response = conversation.ask_successfully(&params).await;
        let content = response["content"].as_array().unwrap();
        assert_eq!(content[0]["type"], "thinking", "{kind:?}");
        assert_eq!(content.last().unwrap()["type"], "tool_use", "{kind:?}");
        let call = blocks(&response, "tool_use")[0];
        let result = json!({"type": "tool_result", "tool_use_id": call["id"], "content": "12"});
        conversation.say("user", json!([result]));
        let response = conversation.ask_successfully(&params).await;
        assert!(text(&response).contains("12"), "{kind:?} {response}");
        conversation.assert_booked_as_billed().await;
    }
}

#[tokio::test]
async fn a_plain_request_gets_no_thoughts() {
    for kind in THINKING_KINDS {
        let mut conversation = Conversation::start(kind).await;
        conversation.say("user", "How many? [sim:think Count the crates.]");
        let record = conversation.ask(&json!({})).await;
        let content = record["response"]["content"].as_array().unwrap();
        assert_eq!(content.len(), 1, "{kind:?} {record}");
        assert_eq!(content[0]["type"], "text", "{kind:?}");
        let usage = record["response"]["usage"].as_object().unwrap();
        let counts: Vec<&String> = usage.keys().collect();
        assert_eq!(counts, ["input_tokens", "output_tokens"], "{kind:?}");
        conversation.assert_booked_as_billed().await;
    }
}

/// Longshore passes signatures on, and their provider refuses a forged one.
#[tokio::test]
async fn a_forged_signature_fails_the_request_and_costs_nothing() {
    let mut conversation = Conversation::start(ChatKind::Anthropic).await;
    conversation.say("user", "How many crates?");
    let forged = json!([
        {"type": "thinking", "thinking": "Twelve.", "signature": "v1.anthropic.Zm9yZ2Vk"},
        {"type": "text", "text": "Twelve."},
    ]);
    conversation.say("assistant", forged);
    conversation.say("user", "Are you sure?");
    let record = conversation.ask(&params()).await;
    assert_eq!(record["error_code"], "request_rejected", "{record}");
    assert_eq!(record["cost"]["charged"], 0);
    conversation.assert_booked_as_billed().await;
}
