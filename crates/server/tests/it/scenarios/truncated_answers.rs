//! Truncated answers: by the limit of tokens, and by stop sequences of which the provider knows
//! some or none.

use serde_json::{Value, json};
use simulator::rule;

use super::conversation::{ChatKind, Conversation, text};

#[tokio::test]
async fn an_answer_at_the_limit_is_delivered_and_paid() {
    for kind in ChatKind::ALL {
        let mut conversation = Conversation::start(kind).await;
        conversation.say("user", "one two three four five six [sim:cut]");
        let params = json!({"output_config": {"effort": "low"}});
        let response = conversation.ask_successfully(&params).await;
        assert_eq!(response["stop_reason"], "max_tokens", "{kind:?} {response}");
        conversation.assert_booked_as_billed().await;
    }
}

#[tokio::test]
async fn json_that_was_cut_is_delivered_as_it_came() {
    let schema = json!({
        "type": "object", "properties": {"pier": {"type": "string"}},
        "required": ["pier"], "additionalProperties": false,
    });
    let params = json!({"output_config": {"format": {"type": "json_schema", "schema": schema}}});
    for kind in ChatKind::ALL {
        let mut conversation = Conversation::start(kind).await;
        conversation.say("user", "Where is it? [sim:cut]");
        let response = conversation.ask_successfully(&params).await;
        assert_eq!(response["stop_reason"], "max_tokens", "{kind:?} {response}");
        conversation.assert_booked_as_billed().await;
    }
}

/// The provider gets no more stop sequences than it takes, and Longshore applies the rest. The
/// tokens after the cut are paid.
#[tokio::test]
async fn every_stop_sequence_counts() {
    let question = "one two three four five six";
    let whole = rule::chat_text(question);
    let (expected, _) = whole.split_once("four").unwrap();
    let stops = ["ten", "eleven", "twelve", "thirty", "forty", "four"];
    for kind in ChatKind::ALL {
        let mut conversation = Conversation::start(kind).await;
        conversation.say("user", question);
        let params = json!({"stop_sequences": stops, "output_config": {"effort": "low"}});
        let response = conversation.ask_successfully(&params).await;
        assert_eq!(response["stop_reason"], "stop_sequence", "{kind:?}");
        assert_eq!(text(&response), expected, "{kind:?}");
        let output = response["usage"]["output_tokens"].as_u64().unwrap();
        let words = rule::output_tokens(expected);
        assert!(output >= words, "{kind:?} {response}");
        conversation.assert_booked_as_billed().await;
    }
}

#[tokio::test]
async fn a_plain_request_is_cut_too() {
    let question = "one two three four five six";
    let mut conversation = Conversation::start(ChatKind::Responses).await;
    conversation.say("user", question);
    let params = json!({"stop_sequences": ["four"]});
    let response = conversation.ask_successfully(&params).await;
    assert_eq!(response["stop_reason"], "stop_sequence");
    assert_eq!(response.get("stop_sequence"), None::<&Value>);
    let whole = rule::chat_text(question);
    let (expected, _) = whole.split_once("four").unwrap();
    assert_eq!(text(&response), expected);
    let paid = response["usage"]["output_tokens"].as_u64();
    assert_eq!(paid, Some(rule::output_tokens(&whole)));
    conversation.assert_booked_as_billed().await;
}
