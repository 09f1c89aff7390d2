//! What is refused in a conversation, and where.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::field_refusal::tests::text_of;
use crate::thinking_signature::{SignatureKind, ThinkingSignature};

/// The refusals of a chat with these fields beside the required ones.
fn refusals(fields: Value) -> String {
    let mut params = json!({
        "model": "m", "max_tokens": 4096, "messages": [{"role": "user", "content": "Hello"}],
    });
    let Value::Object(fields) = fields else {
        unreachable!("the fields are an object")
    };
    params.as_object_mut().unwrap().extend(fields);
    let chat: ChatParams = serde_json::from_value(params).unwrap();
    text_of(&check(&chat))
}

fn tool(name: &str) -> Value {
    json!({"name": name, "input_schema": {"type": "object"}})
}

fn call(id: &str, name: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": {}})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "18 degrees"})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// A conversation with the tool `weather`: a question, then these turns of assistant and user.
fn turns(turns: &[Value]) -> Value {
    let mut messages = vec![json!({"role": "user", "content": "Weather?"})];
    for (index, content) in turns.iter().enumerate() {
        let role = if index % 2 == 0 { "assistant" } else { "user" };
        messages.push(json!({"role": role, "content": content}));
    }
    json!({"tools": [tool("weather")], "messages": messages})
}

#[test]
fn a_plain_chat_and_a_loop_of_tools_are_accepted() {
    assert_eq!(refusals(json!({})), "");
    let signature = ThinkingSignature::new(SignatureKind::Anthropic, "sig").to_string();
    let thought = json!({"type": "thinking", "thinking": "", "signature": signature});
    let hidden = json!({"type": "redacted_thinking", "data": "x"});
    let conversation = turns(&[
        json!([
            thought,
            hidden,
            text("I look."),
            call("a", "weather"),
            call("b", "weather")
        ]),
        json!([result("b"), result("a"), text("And now?")]),
        json!([call("c", "weather")]),
        json!([result("c")]),
    ]);
    assert_eq!(refusals(conversation), "");
}

#[test]
fn each_call_is_answered_by_one_result_in_the_next_message() {
    let unanswered = turns(&[json!([call("a", "weather")]), json!([text("No.")])]);
    insta::assert_snapshot!(refusals(unanswered), @"params.messages.1.content.0.id: The next message must contain the tool_result of this tool_use");

    let at_the_end = turns(&[json!([text("I look."), call("a", "weather")])]);
    insta::assert_snapshot!(refusals(at_the_end), @"params.messages.1.content.1.id: The next message must contain the tool_result of this tool_use");

    let unknown = turns(&[json!("Sunny."), json!([result("a")])]);
    insta::assert_snapshot!(refusals(unknown), @"params.messages.2.content.0.tool_use_id: The message before has no tool_use block with this id");

    let twice = turns(&[
        json!([call("a", "weather")]),
        json!([result("a"), result("a")]),
    ]);
    insta::assert_snapshot!(refusals(twice), @"params.messages.2.content.1.tool_use_id: Another tool_result answers the same tool_use");

    let late = turns(&[
        json!([call("a", "weather")]),
        json!([result("a")]),
        json!("Sunny."),
        json!([result("a")]),
    ]);
    insta::assert_snapshot!(refusals(late), @"params.messages.4.content.0.tool_use_id: The message before has no tool_use block with this id");
}

#[test]
fn results_come_first_in_their_message() {
    let after_text = turns(&[
        json!([call("a", "weather")]),
        json!([text("Here:"), result("a")]),
    ]);
    insta::assert_snapshot!(refusals(after_text), @"params.messages.2.content.1: tool_result blocks must come before all other blocks of their message");
}

#[test]
fn ids_and_names_of_calls_are_checked() {
    let same_id = turns(&[
        json!([call("a", "weather")]),
        json!([result("a")]),
        json!([call("a", "weather")]),
        json!([result("a")]),
    ]);
    insta::assert_snapshot!(refusals(same_id), @"params.messages.3.content.0.id: Another tool_use block has the same id");

    let other_name = turns(&[json!([call("a", "time")]), json!([result("a")])]);
    insta::assert_snapshot!(refusals(other_name), @"params.messages.1.content.0.name: tools has no tool of this name");

    let same_names = json!({"tools": [tool("weather"), tool("time"), tool("weather")]});
    insta::assert_snapshot!(refusals(same_names), @"params.tools.2.name: Another tool has the same name");
}

#[test]
fn tool_blocks_need_tools() {
    let mut conversation = turns(&[json!([call("a", "weather")]), json!([result("a")])]);
    conversation.as_object_mut().unwrap().remove("tools");
    insta::assert_snapshot!(refusals(conversation), @"params.tools: tools is required when messages contain tool_use or tool_result blocks");
}

#[test]
fn a_choice_needs_its_tool() {
    for kind in ["auto", "any", "none"] {
        let choice = json!({"tool_choice": {"type": kind}});
        assert_eq!(
            refusals(choice),
            "params.tool_choice: tool_choice requires tools"
        );
    }
    let named = |name: &str| {
        let choice = json!({"type": "tool", "name": name});
        refusals(json!({"tools": [tool("weather")], "tool_choice": choice}))
    };
    assert_eq!(named("weather"), "");
    insta::assert_snapshot!(named("time"), @"params.tool_choice.name: tools has no tool of this name");
}

#[test]
fn each_block_is_in_a_message_of_its_role() {
    let in_wrong_message = json!({
        "tools": [tool("weather")],
        "messages": [
            {"role": "user", "content": [
                {"type": "thinking", "thinking": "", "signature": "v1.server."},
                {"type": "redacted_thinking", "data": "x"},
                call("a", "weather"),
            ]},
            {"role": "assistant", "content": [result("a")]},
        ],
    });
    insta::assert_snapshot!(refusals(in_wrong_message), @r"
    params.messages.0.content.0: A thinking block must be in a message of the assistant
    params.messages.0.content.1: A redacted_thinking block must be in a message of the assistant
    params.messages.0.content.2: A tool_use block must be in a message of the assistant
    params.messages.1.content.0: A tool_result block must be in a message of the user
    ");
}

#[test]
fn a_signature_is_one_that_longshore_returned() {
    let thought = json!({"type": "thinking", "thinking": "Hm", "signature": "ErUB"});
    insta::assert_snapshot!(refusals(turns(&[json!([thought]), json!("Go on.")])), @"params.messages.1.content.0.signature: The signature is not one that Longshore returned: send thinking blocks back unchanged, or leave them out");
}

#[test]
fn a_result_contains_text_images_and_documents() {
    let file = |kind: &str| json!({"type": kind, "source": {"file_id": "file_1"}});
    let inside = [
        text("a"),
        file("image"),
        file("document"),
        file("video"),
        call("b", "weather"),
    ];
    let result = json!({"type": "tool_result", "tool_use_id": "a", "content": inside});
    let conversation = turns(&[json!([call("a", "weather")]), json!([result])]);
    insta::assert_snapshot!(refusals(conversation), @r"
    params.messages.2.content.0.content.3: A tool_result may contain text, image and document blocks only
    params.messages.2.content.0.content.4: A tool_result may contain text, image and document blocks only
    ");
}

#[test]
fn an_answer_with_a_schema_is_whole() {
    let format = json!({"format": {"type": "json_schema", "schema": {"type": "object"}}});
    let stopped = json!({"output_config": format, "stop_sequences": ["END"]});
    insta::assert_snapshot!(refusals(stopped), @"params.stop_sequences: stop_sequences and output_config.format cannot be combined: an answer that is cut is not valid JSON");

    let begun = json!({
        "output_config": format,
        "messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "{"}],
    });
    insta::assert_snapshot!(refusals(begun), @"params.messages.1: The last message cannot be the assistant's with output_config.format: the rest of a begun answer is not valid JSON");
}

#[test]
fn a_budget_fits_into_max_tokens() {
    let budget =
        |tokens: u32| refusals(json!({"thinking": {"type": "enabled", "budget_tokens": tokens}}));
    assert_eq!(budget(1024), "");
    assert_eq!(budget(4095), "");
    insta::assert_snapshot!(budget(1023), @"params.thinking.budget_tokens: budget_tokens must be at least 1024");
    insta::assert_snapshot!(budget(4096), @"params.thinking.budget_tokens: budget_tokens must be less than max_tokens, which includes it");
}

#[test]
fn thinking_excludes_what_it_contradicts() {
    let thinking = json!({"type": "enabled", "budget_tokens": 2000});
    let forced = json!({
        "thinking": thinking, "tools": [tool("weather")], "tool_choice": {"type": "any"},
    });
    insta::assert_snapshot!(refusals(forced), @"params.tool_choice.type: tool_choice cannot force a call while thinking is enabled with a budget: use thinking of type adaptive, or tool_choice auto");

    let begun = json!({
        "thinking": thinking, "messages": [{"role": "assistant", "content": "It is"}],
    });
    insta::assert_snapshot!(refusals(begun), @"params.thinking.type: thinking cannot be enabled with a budget when the last message is the assistant's");

    let effort = json!({"thinking": {"type": "disabled"}, "output_config": {"effort": "low"}});
    insta::assert_snapshot!(refusals(effort), @"params.output_config.effort: output_config.effort cannot be combined with disabled thinking");
}

/// A conversation with a mark at every place that can have one, in the order of the prompt.
fn marked(ttls: [Option<&str>; 6]) -> Value {
    let mark = |mut value: Value, ttl: Option<&str>| {
        if let Some(ttl) = ttl {
            let control = json!({"type": "ephemeral", "ttl": ttl});
            let object = value.as_object_mut().unwrap();
            object.insert("cache_control".to_owned(), control);
        }
        value
    };
    let [
        on_tool,
        on_system,
        on_text,
        on_nested,
        on_result,
        on_request,
    ] = ttls;
    let nested = mark(text("18 degrees"), on_nested);
    let result = json!({"type": "tool_result", "tool_use_id": "a", "content": [nested]});
    let conversation = json!({
        "tools": [mark(tool("weather"), on_tool)],
        "system": [mark(text("Be brief."), on_system)],
        "messages": [
            {"role": "user", "content": [mark(text("Weather?"), on_text)]},
            {"role": "assistant", "content": [call("a", "weather")]},
            {"role": "user", "content": [mark(result, on_result)]},
        ],
    });
    mark(conversation, on_request)
}

#[test]
fn a_request_has_at_most_four_cache_marks() {
    let five_minutes = Some("5m");
    let four = [
        five_minutes,
        None,
        five_minutes,
        five_minutes,
        None,
        five_minutes,
    ];
    assert_eq!(refusals(marked(four)), "");
    insta::assert_snapshot!(refusals(marked([five_minutes; 6])), @r"
    params.messages.2.content.0.cache_control: A request may have at most 4 cache_control marks
    params.cache_control: A request may have at most 4 cache_control marks
    ");
}

#[test]
fn marks_of_an_hour_come_before_those_of_five_minutes() {
    let (hour, minutes) = (Some("1h"), Some("5m"));
    let in_order = [hour, hour, None, minutes, None, minutes];
    assert_eq!(refusals(marked(in_order)), "");
    let system_first = [minutes, hour, None, None, None, None];
    insta::assert_snapshot!(refusals(marked(system_first)), @"params.system.0.cache_control.ttl: Marks with ttl 1h must come before those with 5m, in the order tools, system, messages");
    let at_the_end = [None, None, minutes, None, hour, hour];
    insta::assert_snapshot!(refusals(marked(at_the_end)), @r"
    params.messages.2.content.0.cache_control.ttl: Marks with ttl 1h must come before those with 5m, in the order tools, system, messages
    params.cache_control.ttl: Marks with ttl 1h must come before those with 5m, in the order tools, system, messages
    ");
}

#[test]
fn all_faults_are_reported_at_once() {
    let several = json!({
        "tool_choice": {"type": "any"},
        "thinking": {"type": "enabled", "budget_tokens": 1},
        "messages": [{"role": "user", "content": [call("a", "weather")]}],
    });
    let places: Vec<String> = refusals(several)
        .lines()
        .filter_map(|line| Some(line.split_once(':')?.0.to_owned()))
        .collect();
    assert_eq!(
        places,
        [
            "params.messages.0.content.0",
            "params.tools",
            "params.messages.0.content.0.id",
            "params.tool_choice",
            "params.thinking.budget_tokens",
            "params.tool_choice.type",
        ]
    );
}

fn any_block() -> impl Strategy<Value = Value> {
    let id = "[a-c]";
    prop_oneof![
        "[a-z]{0,3}".prop_map(|it| text(&it)),
        (id, "(weather|time)").prop_map(|(id, name)| call(&id, &name)),
        id.prop_map(|id| result(&id)),
        r"(v1\.server\.|x)".prop_map(
            |signature| json!({"type": "thinking", "thinking": "", "signature": signature})
        ),
    ]
}

proptest! {
    /// Accepted conversations have the property that encoders rely on: each call has one result, in
    /// the next message.
    #[test]
    fn in_an_accepted_conversation_each_call_has_its_result(
        contents in prop::collection::vec(prop::collection::vec(any_block(), 1..4), 0..5),
    ) {
        let contents: Vec<Value> = contents.into_iter().map(Value::Array).collect();
        let mut params = turns(&contents);
        let object = params.as_object_mut().unwrap();
        object.insert("model".to_owned(), json!("m"));
        object.insert("max_tokens".to_owned(), json!(10));
        let chat: ChatParams = serde_json::from_value(params).unwrap();
        if check(&chat).is_empty() {
            let ids = |at: usize, kind: &str, field: &str| -> Vec<String> {
                let content = contents.get(at).and_then(Value::as_array);
                let blocks = content.into_iter().flatten();
                let mut ids: Vec<String> = blocks
                    .filter(|block| block["type"] == kind)
                    .map(|block| block[field].as_str().unwrap().to_owned())
                    .collect();
                ids.sort();
                ids
            };
            for at in 0..contents.len() {
                let calls = ids(at, "tool_use", "id");
                prop_assert_eq!(calls, ids(at + 1, "tool_result", "tool_use_id"));
            }
        }
    }
}
