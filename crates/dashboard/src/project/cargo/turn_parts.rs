//! The parts of a conversation's turn: text, files, calls of tools and their results, thoughts.

use domain::params::content::{ContentBlock, ToolResultContent};
use serde_json::{Map, Value};

use crate::project::cargo::pretty_json::format_json;

/// Bytes of a body that the page shows, once as turns and once raw.
pub(crate) const MAX_SHOWN_BYTES: usize = 100_000;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TurnPart {
    Text(String),
    /// The kind of file, and its id.
    File(&'static str, String),
    /// The name of the tool, the id of the call, and its input as JSON.
    ToolCall(String, String, String),
    /// The id of the call, and whether the tool failed. What it returned follows.
    ToolResult(String, bool),
    /// Empty if the provider does not show them.
    Thinking(String),
    /// Any other content: its kind, and its JSON.
    Json(String, String),
}

/// The remaining bytes to show of a body.
#[derive(Debug)]
pub(crate) struct RemainingBytes {
    pub(crate) left: usize,
    pub(crate) is_cut: bool,
}

impl RemainingBytes {
    pub(crate) const fn new() -> Self {
        Self {
            left: MAX_SHOWN_BYTES,
            is_cut: false,
        }
    }

    pub(crate) fn take(&mut self, text: &str) -> String {
        let shown = truncate(text, self.left);
        self.left -= shown.len();
        self.is_cut |= shown.len() < text.len();
        shown.to_owned()
    }

    /// JSON with line breaks.
    fn take_json(&mut self, json: &str) -> String {
        let (pretty, is_all) = format_json(json, self.left);
        self.is_cut |= !is_all;
        self.take(&pretty)
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

/// A block of the caller's request. The result of a tool has several parts.
pub(crate) fn input_parts(block: &ContentBlock, room: &mut RemainingBytes) -> Vec<TurnPart> {
    let part = match block {
        ContentBlock::Text { text, .. } => TurnPart::Text(room.take(text)),
        ContentBlock::Image { source, .. } => TurnPart::File("image", room.take(&source.file_id)),
        ContentBlock::Document { source, .. } => {
            TurnPart::File("document", room.take(&source.file_id))
        }
        ContentBlock::Video { source, .. } => TurnPart::File("video", room.take(&source.file_id)),
        ContentBlock::ToolUse {
            id, name, input, ..
        } => tool_call(name, id, input, room),
        ContentBlock::ToolResult {
            tool_use_id,
            content,
            is_error,
            ..
        } => {
            let mut parts = vec![TurnPart::ToolResult(room.take(tool_use_id), *is_error)];
            match content {
                None => {}
                Some(ToolResultContent::Text(text)) => {
                    parts.push(TurnPart::Text(room.take(text)));
                }
                Some(ToolResultContent::Blocks(blocks)) => {
                    let inner = blocks.iter().flat_map(|block| input_parts(block, room));
                    parts.extend(inner);
                }
            }
            return parts;
        }
        ContentBlock::Thinking { thinking, .. } => TurnPart::Thinking(room.take(thinking)),
        ContentBlock::RedactedThinking { .. } => TurnPart::Thinking(String::new()),
    };
    vec![part]
}

/// A block of the answer, read loosely. The text of an answer with a schema is JSON.
pub(crate) fn output_part(block: &Value, has_schema: bool, room: &mut RemainingBytes) -> TurnPart {
    let field = |name: &str| block.get(name).and_then(Value::as_str);
    let kind = field("type").unwrap_or("piece");
    match (kind, field("text")) {
        ("tool_use", _) => {
            let input = block.get("input").and_then(Value::as_object);
            let name = field("name").unwrap_or_default();
            let id = field("id").unwrap_or_default();
            tool_call(name, id, input.unwrap_or(&Map::new()), room)
        }
        ("thinking" | "redacted_thinking", _) => {
            TurnPart::Thinking(room.take(field("thinking").unwrap_or_default()))
        }
        (_, Some(text)) if has_schema && serde_json::from_str::<Value>(text).is_ok() => {
            TurnPart::Json("JSON answer".to_owned(), room.take_json(text))
        }
        (_, Some(text)) => TurnPart::Text(room.take(text)),
        (kind, None) => TurnPart::Json(kind.to_owned(), room.take_json(&block.to_string())),
    }
}

fn tool_call(
    name: &str,
    id: &str,
    input: &Map<String, Value>,
    room: &mut RemainingBytes,
) -> TurnPart {
    let json = serde_json::to_string(input).unwrap_or_default();
    TurnPart::ToolCall(room.take(name), room.take(id), room.take_json(&json))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn input(block: Value) -> Vec<TurnPart> {
        let block = serde_json::from_value(block).unwrap();
        input_parts(&block, &mut RemainingBytes::new())
    }

    fn output(block: &Value, has_schema: bool) -> TurnPart {
        output_part(block, has_schema, &mut RemainingBytes::new())
    }

    #[test]
    fn a_call_and_its_result_are_readable() {
        let call = json!({"type": "tool_use", "id": "a", "name": "sum", "input": {"x": 1}});
        let expected = || {
            let input = "{\n  \"x\": 1\n}".to_owned();
            TurnPart::ToolCall("sum".to_owned(), "a".to_owned(), input)
        };
        assert_eq!(output(&call, false), expected());
        assert_eq!(input(call), [expected()]);
        let result = json!({
            "type": "tool_result", "tool_use_id": "a", "is_error": true,
            "content": [
                {"type": "text", "text": "no"},
                {"type": "image", "source": {"file_id": "file_1"}},
            ],
        });
        let expected = [
            TurnPart::ToolResult("a".to_owned(), true),
            TurnPart::Text("no".to_owned()),
            TurnPart::File("image", "file_1".to_owned()),
        ];
        assert_eq!(input(result), expected);
    }

    #[test]
    fn thoughts_are_shown_if_they_are_readable() {
        let thought = json!({"type": "thinking", "thinking": "hm", "signature": "v1.server."});
        assert_eq!(output(&thought, false), TurnPart::Thinking("hm".to_owned()));
        assert_eq!(input(thought), [TurnPart::Thinking("hm".to_owned())]);
        let redacted = json!({"type": "redacted_thinking", "data": "x"});
        assert_eq!(output(&redacted, true), TurnPart::Thinking(String::new()));
        assert_eq!(input(redacted), [TurnPart::Thinking(String::new())]);
    }

    #[test]
    fn only_an_answer_with_a_schema_is_shown_as_json() {
        let text = json!({"type": "text", "text": "{\"a\":1}"});
        assert_eq!(output(&text, false), TurnPart::Text("{\"a\":1}".to_owned()));
        assert_eq!(
            output(&text, true),
            TurnPart::Json("JSON answer".to_owned(), "{\n  \"a\": 1\n}".to_owned())
        );
        // It was cut off.
        let cut = json!({"type": "text", "text": "{\"a\":"});
        assert_eq!(output(&cut, true), TurnPart::Text("{\"a\":".to_owned()));
    }

    #[test]
    fn no_part_is_longer_than_the_room() {
        let long = "x".repeat(MAX_SHOWN_BYTES);
        let call = json!({"type": "tool_use", "id": "a", "name": "sum", "input": {"x": long}});
        let mut room = RemainingBytes::new();
        output_part(&call, false, &mut room);
        assert!(room.is_cut);
    }
}
