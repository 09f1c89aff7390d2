//! Refusals: a model that declines in words has answered, and one without words has failed.

use serde_json::json;

use super::conversation::{ChatKind, Conversation, text};

#[tokio::test]
async fn a_refusal_in_words_is_an_answer_with_its_own_stop_reason() {
    for kind in ChatKind::ALL {
        let mut conversation = Conversation::start(kind).await;
        conversation.say("user", "Tell me. [sim:refuse]");
        let params = json!({"output_config": {"effort": "low"}});
        let response = conversation.ask_successfully(&params).await;
        assert_eq!(response["stop_reason"], "refusal", "{kind:?} {response}");
        assert!(text(&response).contains("can't help"), "{kind:?}");
        conversation.assert_booked_as_billed().await;
    }
}

#[tokio::test]
async fn a_plain_request_sees_the_contracts_stop_reason() {
    for kind in ChatKind::ALL {
        let mut conversation = Conversation::start(kind).await;
        conversation.say("user", "Tell me. [sim:refuse]");
        let response = conversation.ask_successfully(&json!({})).await;
        assert_eq!(response["stop_reason"], "end_turn", "{kind:?} {response}");
        conversation.assert_booked_as_billed().await;
    }
}

/// The caller pays nothing. What the provider bills is in our books.
#[tokio::test]
async fn a_refusal_without_words_fails_and_costs_the_caller_nothing() {
    for kind in ChatKind::ALL {
        let mut conversation = Conversation::start(kind).await;
        conversation.say("user", "Tell me. [sim:blocked]");
        let params = json!({"output_config": {"effort": "low"}});
        let record = conversation.ask(&params).await;
        assert_eq!(record["error_code"], "content_blocked", "{kind:?} {record}");
        assert_eq!(record["cost"]["charged"], 0, "{kind:?}");
        conversation.assert_booked_as_billed().await;
    }
}

#[tokio::test]
async fn an_empty_refusal_of_anthropic_fails() {
    let mut conversation = Conversation::start(ChatKind::Anthropic).await;
    conversation.say("user", "Tell me. [sim:refuse-empty]");
    let record = conversation.ask(&json!({})).await;
    assert_eq!(record["error_code"], "content_blocked", "{record}");
    assert_eq!(record["cost"]["charged"], 0);
    conversation.assert_booked_as_billed().await;
}
