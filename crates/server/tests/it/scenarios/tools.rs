//! Tools: the model asks for a call, the caller returns its result, and the model continues.

use serde_json::{Value, json};

use super::conversation::{ChatKind, Conversation, blocks, text};

fn params() -> Value {
    json!({"tools": [{
        "name": "find_crate",
        "description": "Says where a crate is.",
        "input_schema": {
            "type": "object",
            "properties": {"crate": {"type": "integer"}},
            "required": ["crate"],
            "additionalProperties": false,
        },
    }]})
}

/// The calls of an answer that ends with them.
fn calls(response: &Value) -> Vec<&Value> {
    assert_eq!(response["stop_reason"], "tool_use", "{response}");
    blocks(response, "tool_use")
}

/// The block that answers a call.
fn result(call: &Value, content: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": call["id"], "content": content})
}

#[tokio::test]
async fn a_call_is_answered_with_its_result() {
    for kind in ChatKind::ALL {
        let mut conversation = Conversation::start(kind).await;
        conversation.say("user", r#"Where is it? [sim:tool find_crate {"crate":7}]"#);
        let response = conversation.ask_successfully(&params()).await;
        let calls = calls(&response);
        let call = json!({
            "type": "tool_use", "id": calls[0]["id"], "name": "find_crate",
            "input": {"crate": 7},
        });
        assert_eq!(calls, [&call], "{kind:?}");
        assert!(blocks(&response, "text").is_empty(), "{kind:?}");
        conversation.say("user", json!([result(&call, "crate 7 is at pier 4")]));
        let response = conversation.ask_successfully(&params()).await;
        assert_eq!(response["stop_reason"], "end_turn", "{kind:?}");
        assert!(text(&response).contains("at pier 4"), "{kind:?} {response}");
        conversation.assert_booked_as_billed().await;
    }
}

#[tokio::test]
async fn a_loop_of_three_rounds_keeps_its_history() {
    for kind in ChatKind::ALL {
        let mut conversation = Conversation::start(kind).await;
        conversation.say("user", r#"[sim:tool find_crate {"crate":1}]"#);
        let first = conversation.ask_successfully(&params()).await;
        let next = r#"pier 1 [sim:tool find_crate {"crate":2}] [sim:tool find_crate {"crate":3}]"#;
        conversation.say("user", json!([result(calls(&first)[0], next)]));
        let second = conversation.ask_successfully(&params()).await;
        let parallel = calls(&second);
        let crates: Vec<&Value> = parallel.iter().map(|it| &it["input"]["crate"]).collect();
        assert_eq!(crates, [2, 3], "{kind:?}");
        assert_ne!(parallel[0]["id"], parallel[1]["id"], "{kind:?}");
        let results = json!([
            result(parallel[0], "pier 2"),
            result(parallel[1], r#"pier 3 [sim:tool find_crate {"crate":4}]"#),
        ]);
        conversation.say("user", results);
        let third = conversation.ask_successfully(&params()).await;
        let last = calls(&third)[0];
        assert_eq!(last["input"], json!({"crate": 4}), "{kind:?}");
        let failed = json!({
            "type": "tool_result", "tool_use_id": last["id"], "is_error": true,
            "content": "no such crate",
        });
        conversation.say("user", json!([failed]));
        let response = conversation.ask_successfully(&params()).await;
        assert!(
            text(&response).contains("no such crate"),
            "{kind:?} {response}"
        );
        conversation.assert_booked_as_billed().await;
    }
}

#[tokio::test]
async fn a_forced_call_has_input_of_the_schema() {
    for kind in ChatKind::ALL {
        let mut conversation = Conversation::start(kind).await;
        conversation.say("user", "Anything.");
        let mut params = params();
        params["tool_choice"] = json!({"type": "tool", "name": "find_crate"});
        let response = conversation.ask_successfully(&params).await;
        let input = &calls(&response)[0]["input"];
        assert!(input["crate"].is_i64(), "{kind:?} {input}");
        conversation.assert_booked_as_billed().await;
    }
}

#[tokio::test]
async fn arguments_that_are_no_json_reach_the_caller() {
    for kind in [ChatKind::Completions, ChatKind::Responses, ChatKind::Server] {
        let mut conversation = Conversation::start(kind).await;
        conversation.say("user", r#"[sim:badargs find_crate {"crate":]"#);
        let response = conversation.ask_successfully(&params()).await;
        let input = &calls(&response)[0]["input"];
        assert_eq!(*input, json!({"_raw": r#"{"crate":"#}), "{kind:?}");
        conversation.assert_booked_as_billed().await;
    }
}

#[tokio::test]
async fn a_call_without_an_id_gets_one_that_can_be_answered() {
    let mut conversation = Conversation::start(ChatKind::Server).await;
    conversation.say(
        "user",
        r#"[sim:noid] [sim:tool find_crate {"crate":1}] [sim:tool find_crate {"crate":2}]"#,
    );
    let response = conversation.ask_successfully(&params()).await;
    let calls = calls(&response);
    for call in &calls {
        assert!(call["id"].as_str().unwrap().starts_with("toolu_"), "{call}");
    }
    let results = json!([result(calls[0], "pier 1"), result(calls[1], "pier 2")]);
    conversation.say("user", results);
    let response = conversation.ask_successfully(&params()).await;
    assert_eq!(response["stop_reason"], "end_turn");
    conversation.assert_booked_as_billed().await;
}
