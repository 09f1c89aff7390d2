//! Structured output: the answer is JSON of the caller's schema.

use serde_json::{Value, json};

use super::conversation::{ChatKind, Conversation, text};

fn format() -> Value {
    json!({"format": {"type": "json_schema", "name": "stock", "schema": {
        "type": "object",
        "properties": {
            "pier": {"type": "string"},
            "crates": {"type": "integer"},
            "state": {"type": "string", "enum": ["full", "empty"]},
            "holds": {"type": "array", "items": {"type": "number"}},
        },
        "required": ["pier", "crates", "state", "holds"],
        "additionalProperties": false,
    }}})
}

fn assert_conforms(kind: ChatKind, response: &Value) {
    assert_eq!(response["stop_reason"], "end_turn", "{kind:?}");
    let answer: Value = serde_json::from_str(text(response)).unwrap();
    let fields = answer.as_object().unwrap();
    let names: Vec<&String> = fields.keys().collect();
    assert_eq!(names.len(), 4, "{kind:?} {answer}");
    assert!(answer["pier"].is_string(), "{kind:?} {answer}");
    assert!(answer["crates"].is_i64(), "{kind:?} {answer}");
    let states = [json!("full"), json!("empty")];
    assert!(states.contains(&answer["state"]), "{kind:?} {answer}");
    let holds = answer["holds"].as_array().unwrap();
    assert!(holds.iter().all(Value::is_number), "{kind:?} {answer}");
}

#[tokio::test]
async fn the_answer_is_json_of_the_schema() {
    for kind in ChatKind::ALL {
        let mut conversation = Conversation::start(kind).await;
        conversation.say("user", "Count the crates.");
        let params = json!({"output_config": format()});
        let response = conversation.ask_successfully(&params).await;
        assert_conforms(kind, &response);
        conversation.assert_booked_as_billed().await;
    }
}

#[tokio::test]
async fn a_schema_and_tools_go_together() {
    for kind in ChatKind::ALL {
        let mut conversation = Conversation::start(kind).await;
        conversation.say("user", "[sim:tool count {}]");
        let params = json!({
            "output_config": format(),
            "tools": [{"name": "count", "input_schema": {"type": "object", "properties": {}}}],
        });
        let response = conversation.ask_successfully(&params).await;
        assert_eq!(response["stop_reason"], "tool_use", "{kind:?}");
        let content = response["content"].as_array().unwrap();
        let call = content.iter().find(|it| it["type"] == "tool_use").unwrap();
        let result = json!({"type": "tool_result", "tool_use_id": call["id"], "content": "12"});
        conversation.say("user", json!([result]));
        let response = conversation.ask_successfully(&params).await;
        assert_conforms(kind, &response);
        conversation.assert_booked_as_billed().await;
    }
}
