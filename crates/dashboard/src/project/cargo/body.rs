//! Input and output of a cargo as conversation turns and as raw JSON.

use domain::params::{ChatParams, ContentBlock, InputText, MessageContent, Params};
use serde_json::Value;

use crate::project::cargo::pretty_json::format_json;
use crate::text::count;

/// Bytes of a body that the page shows, once as turns and once raw.
const MAX_SHOWN_BYTES: usize = 100_000;
/// Numbers of a vector in its preview.
const MAX_VECTOR_NUMBERS: usize = 6;

#[derive(Debug, Default)]
pub(crate) struct BodyView {
    pub(crate) turns: Vec<ConversationTurn>,
    /// Parameters, such as the temperature.
    pub(crate) facts: Vec<(&'static str, String)>,
    pub(crate) raw: String,
    pub(crate) size: usize,
    pub(crate) is_cut: bool,
}

/// One turn of a conversation.
#[derive(Debug)]
pub(crate) struct ConversationTurn {
    pub(crate) role: String,
    pub(crate) class: &'static str,
    pub(crate) parts: Vec<TurnPart>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TurnPart {
    Text(String),
    /// The kind of file, and its id.
    File(&'static str, String),
    /// Any other content: its kind, and its JSON.
    Json(String, String),
}

/// The remaining bytes to show of a body.
struct RemainingBytes {
    left: usize,
    is_cut: bool,
}

impl RemainingBytes {
    const fn new() -> Self {
        Self {
            left: MAX_SHOWN_BYTES,
            is_cut: false,
        }
    }

    fn take(&mut self, text: &str) -> String {
        let shown = truncate(text, self.left);
        self.left -= shown.len();
        self.is_cut |= shown.len() < text.len();
        shown.to_owned()
    }
}

/// The longest prefix of at most `max_bytes`, cut at a character boundary.
pub(crate) fn truncate(text: &str, max_bytes: usize) -> &str {
    let mut end = max_bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or(text)
}

pub(crate) fn input(body: &[u8]) -> BodyView {
    let (mut shown, mut room) = (raw(body), RemainingBytes::new());
    match serde_json::from_slice::<Params>(body) {
        Ok(Params::Chat(chat)) => {
            shown.facts = chat_settings(&chat);
            shown.turns = turns(&chat, &mut room);
        }
        Ok(Params::Embedding(embedding)) => {
            let texts = match &embedding.input_text {
                InputText::One(text) => vec![text],
                InputText::Many(texts) => texts.iter().collect(),
            };
            shown.facts = vec![("Texts", count(texts.len()))];
            let pieces = texts
                .iter()
                .take(200)
                .map(|text| TurnPart::Text(room.take(text)));
            shown.turns = vec![turn("texts", pieces.collect())];
            shown.is_cut |= texts.len() > 200;
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
    ];
    facts.extend(given.into_iter().filter_map(|(name, it)| Some((name, it?))));
    if !chat.stop_sequences.is_empty() {
        facts.push(("stop_sequences", format!("{:?}", chat.stop_sequences)));
    }
    facts
}

fn turns(chat: &ChatParams, room: &mut RemainingBytes) -> Vec<ConversationTurn> {
    let mut turns = Vec::new();
    if let Some(system) = &chat.system {
        turns.push(turn("system", vec![TurnPart::Text(room.take(system))]));
    }
    for message in &chat.messages {
        if room.left == 0 {
            room.is_cut = true;
            break;
        }
        let pieces = match &message.content {
            MessageContent::Text(text) => vec![TurnPart::Text(room.take(text))],
            MessageContent::Blocks(blocks) => {
                blocks.iter().map(|block| block_part(block, room)).collect()
            }
        };
        turns.push(turn(&message.role, pieces));
    }
    turns
}

fn block_part(block: &ContentBlock, room: &mut RemainingBytes) -> TurnPart {
    match block {
        ContentBlock::Text { text } => TurnPart::Text(room.take(text)),
        ContentBlock::Image { source } => TurnPart::File("image", room.take(&source.file_id)),
        ContentBlock::Document { source } => TurnPart::File("document", room.take(&source.file_id)),
        ContentBlock::Video { source } => TurnPart::File("video", room.take(&source.file_id)),
    }
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
pub(crate) fn output(body: &[u8]) -> BodyView {
    let (mut shown, mut room) = (raw(body), RemainingBytes::new());
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    if let Some(stop) = answer.get("stop_reason").and_then(Value::as_str) {
        shown.facts.push(("Stop reason", stop.to_owned()));
    }
    if let Some(pieces) = answer.get("content").and_then(Value::as_array) {
        let who = answer.get("role").and_then(Value::as_str);
        let pieces = pieces.iter().map(|piece| output_part(piece, &mut room));
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

fn output_part(piece: &Value, room: &mut RemainingBytes) -> TurnPart {
    if let Some(text) = piece.get("text").and_then(Value::as_str) {
        return TurnPart::Text(room.take(text));
    }
    let kind = piece.get("type").and_then(Value::as_str);
    let json = format_json(&piece.to_string(), room.left).0;
    TurnPart::Json(kind.unwrap_or("piece").to_owned(), room.take(&json))
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
    fn long_bodies_are_truncated() {
        let long = "ä".repeat(MAX_SHOWN_BYTES);
        let body = serde_json::json!({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": long}, {"role": "user", "content": "not reached"}]});
        let shown = input(body.to_string().as_bytes());
        assert!(shown.is_cut && shown.raw.len() <= MAX_SHOWN_BYTES);
        assert_eq!(shown.turns.len(), 1);
    }

    #[test]
    fn an_answer_is_read_loosely() {
        let shown = output(br#"{"content":[{"type":"text","text":"a"},{"type":"tool_use","name":"x"}],"stop_reason":"end_turn"}"#);
        let pieces: usize = shown.turns.iter().map(|it| it.parts.len()).sum();
        assert_eq!((pieces, shown.facts.len()), (2, 1));
        let shown = output(br#"{"embeddings":[[1,2,3,4,5,6,7],[1]]}"#);
        assert_eq!(
            shown.facts,
            [("Vectors", "2".to_owned()), ("Dimensions", "7".to_owned())]
        );
        assert!(output(b"\xff no json").turns.is_empty());
    }
}
