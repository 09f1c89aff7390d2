//! Loops of tools with a thinking budget.

use serde_json::{Value, json};

use super::{able, chat, tool};
use crate::features::{Features, SchemaDialect};
use crate::thinking_signature::{SignatureKind, ThinkingSignature};

const REFUSAL: &str = "params.messages.1.content.0: With a thinking budget, the first message of a \
                       loop of tools must start with the thinking block that this model returned. \
                       Send the block back unchanged, or leave thinking out.";

fn thought(kind: SignatureKind) -> Value {
    let signature = ThinkingSignature::new(kind, "sig").to_string();
    json!({"type": "thinking", "thinking": "Hm", "signature": signature})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "weather", "input": {}})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id})
}

/// The report on a question and these turns of assistant and user, with a thinking budget.
fn report(dialect: SchemaDialect, turns: &[Value]) -> String {
    let features = Features {
        schema_dialects: vec![dialect],
        ..able()
    };
    let mut messages = vec![json!({"role": "user", "content": "Weather?"})];
    for (index, content) in turns.iter().enumerate() {
        let role = if index % 2 == 0 { "assistant" } else { "user" };
        messages.push(json!({"role": role, "content": content}));
    }
    let thinking = json!({"type": "enabled", "budget_tokens": 2000});
    chat(
        features,
        json!({"tools": [tool()], "thinking": thinking, "messages": messages}),
    )
}

fn claude(turns: &[Value]) -> String {
    report(SchemaDialect::Anthropic, turns)
}

#[test]
fn a_loop_starts_with_the_thoughts_of_the_model() {
    let words = json!({"type": "text", "text": "I look."});
    let blank = json!({"type": "text", "text": ""});
    let hidden = json!({"type": "redacted_thinking", "data": "x"});
    let foreign_hidden = ThinkingSignature::new(SignatureKind::Gemini, "x").to_string();
    let foreign_hidden = json!({"type": "redacted_thinking", "data": foreign_hidden});
    let own = thought(SignatureKind::Anthropic);
    let foreign = thought(SignatureKind::OpenAi);
    let with = |blocks: &[&Value]| {
        let calls = call("a");
        let mut content: Vec<&Value> = blocks.to_vec();
        content.push(&calls);
        claude(&[json!(content), json!([result("a")])])
    };
    let accepted: [&[&Value]; 5] = [
        &[&own],
        &[&hidden],
        &[&own, &words],
        &[&foreign, &own],
        &[&blank, &own],
    ];
    for blocks in accepted {
        assert_eq!(with(blocks), "", "{blocks:?}");
    }
    let refused: [&[&Value]; 5] = [
        &[],
        &[&words],
        &[&words, &own],
        &[&foreign],
        &[&foreign_hidden],
    ];
    for blocks in refused {
        assert_eq!(with(blocks), REFUSAL, "{blocks:?}");
    }
}

#[test]
fn all_calls_and_results_since_the_question_are_one_turn() {
    let own = thought(SignatureKind::Anthropic);
    let results = |id: &str| json!([result(id)]);
    let second_without = [
        json!([own, call("a")]),
        results("a"),
        json!([call("b")]),
        results("b"),
    ];
    assert_eq!(claude(&second_without), "");
    let first_without = [
        json!([call("a")]),
        results("a"),
        json!([own, call("b")]),
        results("b"),
    ];
    assert_eq!(claude(&first_without), REFUSAL);
}

#[test]
fn a_loop_that_ended_and_other_providers_need_no_thoughts() {
    let turns = [json!([call("a")]), json!([result("a")])];
    assert_eq!(report(SchemaDialect::OpenAi, &turns), "");
    let ended = [
        json!([call("a")]),
        json!([result("a")]),
        json!("Sunny."),
        json!("And tomorrow?"),
    ];
    assert_eq!(claude(&ended), "");
}
