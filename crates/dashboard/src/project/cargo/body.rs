//! What was asked and what was answered, for people: said in turns, and raw.

use domain::params::{Block, Chat, Content, InputText, Params};
use serde_json::Value;

use crate::project::cargo::pretty::pretty;
use crate::text::count;

/// Of one body a page shows so much twice: said, and raw.
const MOST: usize = 100_000;
/// So many numbers of a vector tell what it looks like.
const NUMBERS: usize = 6;

#[derive(Debug, Default)]
pub(crate) struct Shown {
    pub(crate) said: Vec<Said>,
    /// What belongs to it, such as a temperature.
    pub(crate) facts: Vec<(&'static str, String)>,
    pub(crate) raw: String,
    pub(crate) size: usize,
    pub(crate) is_cut: bool,
}

/// One turn.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) who: String,
    pub(crate) class: &'static str,
    pub(crate) pieces: Vec<Piece>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    /// What it is, and its id.
    File(&'static str, String),
    /// What is no text: its kind, and itself.
    Json(String, String),
}

/// What is left to show of one body.
struct Room {
    left: usize,
    is_cut: bool,
}

impl Room {
    const fn new() -> Self {
        Self {
            left: MOST,
            is_cut: false,
        }
    }

    fn take(&mut self, text: &str) -> String {
        let shown = cut(text, self.left);
        self.left -= shown.len();
        self.is_cut |= shown.len() < text.len();
        shown.to_owned()
    }
}

/// The longest beginning of at most so many bytes.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or(text)
}

pub(crate) fn input(body: &[u8]) -> Shown {
    let (mut shown, mut room) = (raw(body), Room::new());
    match serde_json::from_slice::<Params>(body) {
        Ok(Params::Chat(chat)) => {
            shown.facts = settings(&chat);
            shown.said = turns(&chat, &mut room);
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
                .map(|text| Piece::Text(room.take(text)));
            shown.said = vec![said("texts", pieces.collect())];
            shown.is_cut |= texts.len() > 200;
        }
        Err(_) => {}
    }
    shown.is_cut |= room.is_cut;
    shown
}

fn settings(chat: &Chat) -> Vec<(&'static str, String)> {
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

fn turns(chat: &Chat, room: &mut Room) -> Vec<Said> {
    let mut turns = Vec::new();
    if let Some(system) = &chat.system {
        turns.push(said("system", vec![Piece::Text(room.take(system))]));
    }
    for message in &chat.messages {
        if room.left == 0 {
            room.is_cut = true;
            break;
        }
        let pieces = match &message.content {
            Content::Text(text) => vec![Piece::Text(room.take(text))],
            Content::Blocks(blocks) => blocks.iter().map(|block| piece(block, room)).collect(),
        };
        turns.push(said(&message.role, pieces));
    }
    turns
}

fn piece(block: &Block, room: &mut Room) -> Piece {
    match block {
        Block::Text { text } => Piece::Text(room.take(text)),
        Block::Image { source } => Piece::File("image", room.take(&source.file_id)),
        Block::Document { source } => Piece::File("document", room.take(&source.file_id)),
        Block::Video { source } => Piece::File("video", room.take(&source.file_id)),
    }
}

fn said(who: &str, pieces: Vec<Piece>) -> Said {
    Said {
        who: who.to_owned(),
        class: match who {
            "user" => "user",
            "assistant" => "assistant",
            "system" => "system",
            _ => "other",
        },
        pieces,
    }
}

/// What a model answered. Read loosely: pieces that we do not know are shown as they are.
pub(crate) fn output(body: &[u8]) -> Shown {
    let (mut shown, mut room) = (raw(body), Room::new());
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    if let Some(stop) = answer.get("stop_reason").and_then(Value::as_str) {
        shown.facts.push(("Ended by", stop.to_owned()));
    }
    if let Some(pieces) = answer.get("content").and_then(Value::as_array) {
        let who = answer.get("role").and_then(Value::as_str);
        let pieces = pieces.iter().map(|piece| answered(piece, &mut room));
        shown.said = vec![said(who.unwrap_or("assistant"), pieces.collect())];
    }
    if let Some(vectors) = answer.get("embeddings").and_then(Value::as_array) {
        let numbers = |vector: &Value| vector.as_array().map_or(0, Vec::len);
        shown.facts.push(("Vectors", count(vectors.len())));
        let longest = vectors.iter().map(numbers).max().unwrap_or_default();
        shown.facts.push(("Numbers in each", count(longest)));
        let first = vectors
            .iter()
            .take(20)
            .map(|vector| Piece::Text(beginning(vector)));
        shown.said = vec![said("vectors", first.collect())];
        shown.is_cut |= vectors.len() > 20;
    }
    shown.is_cut |= room.is_cut;
    shown
}

fn answered(piece: &Value, room: &mut Room) -> Piece {
    match piece.get("text").and_then(Value::as_str) {
        Some(text) => Piece::Text(room.take(text)),
        None => {
            let kind = piece.get("type").and_then(Value::as_str);
            let json = pretty(&piece.to_string(), room.left).0;
            Piece::Json(kind.unwrap_or("piece").to_owned(), room.take(&json))
        }
    }
}

fn beginning(vector: &Value) -> String {
    let all = vector.as_array().map(Vec::as_slice).unwrap_or_default();
    let first: Vec<String> = all.iter().take(NUMBERS).map(Value::to_string).collect();
    let more = if all.len() > NUMBERS { ", …" } else { "" };
    format!("[{}{more}]", first.join(", "))
}

/// The bytes alone.
pub(crate) fn raw(body: &[u8]) -> Shown {
    let text = String::from_utf8_lossy(body);
    let (raw, is_all) = pretty(&text, MOST);
    Shown {
        raw,
        size: body.len(),
        is_cut: !is_all,
        ..Shown::default()
    }
}

/// A text that is no JSON, such as an error's.
pub(crate) fn plain(body: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(cut_bytes(body)).into_owned();
    if body.len() > MOST {
        text.push('…');
    }
    text
}

fn cut_bytes(body: &[u8]) -> &[u8] {
    body.get(..MOST).unwrap_or(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chat_is_told_in_turns() {
        let body = br#"{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"<b>hi</b>"},{"role":"<i>","content":[{"type":"image","source":{"file_id":"file_1"}}]}],"system":"s","top_k":3}"#;
        let shown = input(body);
        let whos: Vec<_> = shown
            .said
            .iter()
            .map(|it| (it.who.as_str(), it.class))
            .collect();
        assert_eq!(
            whos,
            [("system", "system"), ("user", "user"), ("<i>", "other")]
        );
        assert_eq!(
            shown.said.last().map(|it| it.pieces.as_slice()),
            Some([Piece::File("image", "file_1".to_owned())].as_slice())
        );
        assert!(!shown.is_cut && shown.facts.len() == 2);
    }

    #[test]
    fn no_more_than_a_page_can_bear_is_shown() {
        let long = "ä".repeat(MOST);
        let body = serde_json::json!({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": long}, {"role": "user", "content": "not reached"}]});
        let shown = input(body.to_string().as_bytes());
        assert!(shown.is_cut && shown.raw.len() <= MOST);
        assert_eq!(shown.said.len(), 1);
    }

    #[test]
    fn an_answer_is_read_loosely() {
        let shown = output(br#"{"content":[{"type":"text","text":"a"},{"type":"tool_use","name":"x"}],"stop_reason":"end_turn"}"#);
        let pieces: usize = shown.said.iter().map(|it| it.pieces.len()).sum();
        assert_eq!((pieces, shown.facts.len()), (2, 1));
        let shown = output(br#"{"embeddings":[[1,2,3,4,5,6,7],[1]]}"#);
        assert_eq!(
            shown.facts,
            [
                ("Vectors", "2".to_owned()),
                ("Numbers in each", "7".to_owned())
            ]
        );
        assert!(output(b"\xff no json").said.is_empty());
    }
}
