//! Input and output of a cargo as conversation turns and as raw JSON.

use domain::params::content::MessageContent;
use domain::params::thinking::Thinking;
use domain::params::tools::ToolChoice;
use domain::params::{ChatParams, EmbeddingParams, Params};
use serde_json::Value;

use crate::project::cargo::pretty_json::format_json;
use crate::project::cargo::turn_parts::{
    MAX_SHOWN_BYTES, RemainingBytes, input_parts, output_part,
};
pub(crate) use crate::project::cargo::turn_parts::{TurnPart, truncate};
use crate::text::count;

/// Numbers of a vector in its preview.
const MAX_VECTOR_NUMBERS: usize = 6;
/// Texts of an embedding on the page.
const MAX_TEXTS: usize = 200;

#[derive(Debug, Default)]
pub(crate) struct BodyView {
    pub(crate) turns: Vec<ConversationTurn>,
    /// Parameters, such as the temperature.
    pub(crate) facts: Vec<(&'static str, String)>,
    pub(crate) raw: String,
    pub(crate) size: usize,
    pub(crate) is_cut: bool,
    /// The request asks for an answer that follows a schema.
    pub(crate) has_schema: bool,
}

/// One turn of a conversation.
#[derive(Debug)]
pub(crate) struct ConversationTurn {
    pub(crate) role: String,
    pub(crate) class: &'static str,
    pub(crate) parts: Vec<TurnPart>,
}

pub(crate) fn input(body: &[u8]) -> BodyView {
    let (mut shown, mut room) = (raw(body), RemainingBytes::new());
    match serde_json::from_slice::<Params>(body) {
        Ok(Params::Chat(chat)) => {
            shown.facts = chat_settings(&chat);
            shown.turns = turns(&chat, &mut room);
            shown.has_schema = chat.output_format().is_some();
        }
        Ok(Params::Embedding(embedding)) => {
            let texts = embedding.input_text.texts();
            shown.facts = embedding_settings(&embedding);
            let pieces = texts
                .iter()
                .take(MAX_TEXTS)
                .map(|text| TurnPart::Text(room.take(text)));
            shown.turns = vec![turn("texts", pieces.collect())];
            shown.is_cut |= texts.len() > MAX_TEXTS;
        }
        Err(_) => {}
    }
    shown.is_cut |= room.is_cut;
    shown
}

fn chat_settings(chat: &ChatParams) -> Vec<(&'static str, String)> {
    let mut facts = vec![("max_tokens", count(chat.max_tokens))];
    let given = [
        ("temperature", chat.temperature.map(|it| it.to_string())),
        ("top_p", chat.top_p.map(|it| it.to_string())),
        ("top_k", chat.top_k.map(|it| it.to_string())),
        ("seed", chat.seed.map(|it| it.to_string())),
        ("tool_choice", chat.tool_choice.as_ref().map(tool_choice)),
        ("thinking", chat.thinking.map(thinking)),
        ("effort", effort(chat)),
        (
            "Answer",
            chat.output_format().map(|_| "JSON schema".to_owned()),
        ),
    ];
    facts.extend(given.into_iter().filter_map(|(name, it)| Some((name, it?))));
    if !chat.stop_sequences.is_empty() {
        facts.push(("stop_sequences", format!("{:?}", chat.stop_sequences)));
    }
    if !chat.tools.is_empty() {
        let names: Vec<&str> = chat.tools.iter().map(|tool| tool.name.as_str()).collect();
        facts.push(("tools", names.join(", ")));
    }
    facts
}

fn effort(chat: &ChatParams) -> Option<String> {
    let effort = chat.output_config.as_ref()?.effort?;
    Some(effort.as_str().to_owned())
}

fn tool_choice(choice: &ToolChoice) -> String {
    match choice {
        ToolChoice::Auto { .. } => "auto".to_owned(),
        ToolChoice::Any { .. } => "any".to_owned(),
        ToolChoice::Tool { name, .. } => name.clone(),
        ToolChoice::None => "none".to_owned(),
    }
}

fn thinking(thinking: Thinking) -> String {
    match thinking {
        Thinking::Disabled => "disabled".to_owned(),
        Thinking::Adaptive { .. } => "adaptive".to_owned(),
        Thinking::Enabled { budget_tokens, .. } => {
            format!("up to {} tokens", count(budget_tokens))
        }
    }
}

fn embedding_settings(embedding: &EmbeddingParams) -> Vec<(&'static str, String)> {
    let mut facts = vec![("Texts", count(embedding.input_text.texts().len()))];
    facts.extend(embedding.dimensions.map(|it| ("dimensions", count(it))));
    let kind = serde_json::to_value(embedding.input_type).unwrap_or_default();
    facts.extend(kind.as_str().map(|it| ("input_type", it.to_owned())));
    facts
}

fn turns(chat: &ChatParams, room: &mut RemainingBytes) -> Vec<ConversationTurn> {
    let mut turns = Vec::new();
    if let Some(system) = &chat.system {
        let text = room.take(&system.joined());
        turns.push(turn("system", vec![TurnPart::Text(text)]));
    }
    for message in &chat.messages {
        if room.left == 0 {
            room.is_cut = true;
            break;
        }
        let pieces = match &message.content {
            MessageContent::Text(text) => vec![TurnPart::Text(room.take(text))],
            MessageContent::Blocks(blocks) => {
                let parts = blocks.iter().flat_map(|block| input_parts(block, room));
                parts.collect()
            }
        };
        turns.push(turn(&message.role, pieces));
    }
    turns
}

fn turn(who: &str, pieces: Vec<TurnPart>) -> ConversationTurn {
    ConversationTurn {
        role: who.to_owned(),
        class: match who {
            "user" => "user",
            "assistant" => "assistant",
            "system" => "system",
            _ => "other",
        },
        parts: pieces,
    }
}

/// The output of a model. Unknown content is shown as JSON.
pub(crate) fn output(body: &[u8], has_schema: bool) -> BodyView {
    let (mut shown, mut room) = (raw(body), RemainingBytes::new());
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    if let Some(stop) = answer.get("stop_reason").and_then(Value::as_str) {
        shown.facts.push(("Stop reason", stop.to_owned()));
    }
    if let Some(pieces) = answer.get("content").and_then(Value::as_array) {
        let who = answer.get("role").and_then(Value::as_str);
        let pieces = pieces.iter();
        let pieces = pieces.map(|piece| output_part(piece, has_schema, &mut room));
        shown.turns = vec![turn(who.unwrap_or("assistant"), pieces.collect())];
    }
    if let Some(vectors) = answer.get("embeddings").and_then(Value::as_array) {
        let numbers = |vector: &Value| vector.as_array().map_or(0, Vec::len);
        shown.facts.push(("Vectors", count(vectors.len())));
        let longest = vectors.iter().map(numbers).max().unwrap_or_default();
        shown.facts.push(("Dimensions", count(longest)));
        let first = vectors
            .iter()
            .take(20)
            .map(|vector| TurnPart::Text(vector_preview(vector)));
        shown.turns = vec![turn("vectors", first.collect())];
        shown.is_cut |= vectors.len() > 20;
    }
    shown.is_cut |= room.is_cut;
    shown
}

fn vector_preview(vector: &Value) -> String {
    let all = vector.as_array().map(Vec::as_slice).unwrap_or_default();
    let first: Vec<String> = all
        .iter()
        .take(MAX_VECTOR_NUMBERS)
        .map(Value::to_string)
        .collect();
    let more = if all.len() > MAX_VECTOR_NUMBERS {
        ", …"
    } else {
        ""
    };
    format!("[{}{more}]", first.join(", "))
}

/// The raw JSON only.
pub(crate) fn raw(body: &[u8]) -> BodyView {
    let text = String::from_utf8_lossy(body);
    let (raw, is_all) = format_json(&text, MAX_SHOWN_BYTES);
    BodyView {
        raw,
        size: body.len(),
        is_cut: !is_all,
        ..BodyView::default()
    }
}

/// A body that is not JSON, such as an error message.
pub(crate) fn plain_text(body: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(truncate_bytes(body)).into_owned();
    if body.len() > MAX_SHOWN_BYTES {
        text.push('…');
    }
    text
}

fn truncate_bytes(body: &[u8]) -> &[u8] {
    body.get(..MAX_SHOWN_BYTES).unwrap_or(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chat_is_shown_in_turns() {
        let body = br#"{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"<b>hi</b>"},{"role":"<i>","content":[{"type":"image","source":{"file_id":"file_1"}}]}],"system":"s","top_k":3}"#;
        let shown = input(body);
        let whos: Vec<_> = shown
            .turns
            .iter()
            .map(|it| (it.role.as_str(), it.class))
            .collect();
        assert_eq!(
            whos,
            [("system", "system"), ("user", "user"), ("<i>", "other")]
        );
        assert_eq!(
            shown.turns.last().map(|it| it.parts.as_slice()),
            Some([TurnPart::File("image", "file_1".to_owned())].as_slice())
        );
        assert!(!shown.is_cut && shown.facts.len() == 2);
    }

    #[test]
    fn what_a_request_asks_for_is_listed() {
        let body = serde_json::json!({
            "model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}],
            "system": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            "tools": [
                {"name": "x", "input_schema": {"type": "object"}},
                {"name": "y", "input_schema": {"type": "object"}},
            ],
            "tool_choice": {"type": "tool", "name": "y"},
            "thinking": {"type": "enabled", "budget_tokens": 2048},
            "output_config": {
                "format": {"type": "json_schema", "schema": {}}, "effort": "low",
            },
            "seed": 7,
        });
        let shown = input(body.to_string().as_bytes());
        let facts: Vec<String> = shown
            .facts
            .iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        insta::assert_snapshot!(facts.join("\n"), @r"
        max_tokens: 5
        seed: 7
        tool_choice: y
        thinking: up to 2,048 tokens
        effort: low
        Answer: JSON schema
        tools: x, y
        ");
        assert!(shown.has_schema);
        let system = shown.turns.first().map(|it| it.parts.as_slice());
        assert_eq!(
            system,
            Some([TurnPart::Text("a\n\nb".to_owned())].as_slice())
        );
    }

    #[test]
    fn long_bodies_are_truncated() {
        let long = "ä".repeat(MAX_SHOWN_BYTES);
        let body = serde_json::json!({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": long}, {"role": "user", "content": "not reached"}]});
        let shown = input(body.to_string().as_bytes());
        assert!(shown.is_cut && shown.raw.len() <= MAX_SHOWN_BYTES);
        assert_eq!(shown.turns.len(), 1);
    }

    #[test]
    fn an_answer_is_read_loosely() {
        let shown = output(br#"{"content":[{"type":"text","text":"a"},{"type":"tool_use","name":"x"}],"stop_reason":"end_turn"}"#, false);
        let pieces: usize = shown.turns.iter().map(|it| it.parts.len()).sum();
        assert_eq!((pieces, shown.facts.len()), (2, 1));
        let shown = output(br#"{"embeddings":[[1,2,3,4,5,6,7],[1]]}"#, false);
        assert_eq!(
            shown.facts,
            [("Vectors", "2".to_owned()), ("Dimensions", "7".to_owned())]
        );
        assert!(output(b"\xff no json", false).turns.is_empty());
    }
}
