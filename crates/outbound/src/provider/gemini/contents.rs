//! Encodes the messages of a chat as contents with parts.

use std::collections::BTreeMap;

use domain::features::Features;
use domain::params::ChatParams;
use domain::params::content::{
    ChatMessage, ContentBlock, FileSource, MessageContent, ToolResultContent,
};
use domain::thinking_signature::{SignatureKind, ThinkingSignature};
use serde_json::{Value, json};

use crate::provider::media::{MediaFile, MediaSource, UnsupportedItem};
use crate::provider::request_fields::present_fields;

/// Gemini takes this instead of a signature for a call that it did not make.
const SIGNATURE_BYPASS: &str = "skip_thought_signature_validator";

pub(super) fn encode(
    chat: &ChatParams,
    features: &Features,
    media: &dyn MediaSource,
) -> Result<Vec<Value>, UnsupportedItem> {
    let mut calls = BTreeMap::new();
    for block in chat.blocks() {
        if let ContentBlock::ToolUse { id, name, .. } = block {
            let order = calls.len();
            calls.insert(id.as_str(), PastCall { name, order });
        }
    }
    let encoder = ContentEncoder {
        calls,
        media,
        // Models with budgets do not check signatures.
        needs_signatures: features.thinking.budget.is_none(),
    };
    let contents = chat.messages.iter().map(|it| encoder.content(it));
    contents.filter_map(Result::transpose).collect()
}

/// A call in an earlier turn: its result needs the name, and the order among all calls.
#[derive(Debug)]
struct PastCall<'a> {
    name: &'a str,
    order: usize,
}

#[derive(Debug)]
struct ContentEncoder<'a> {
    /// By the id of the call.
    calls: BTreeMap<&'a str, PastCall<'a>>,
    media: &'a dyn MediaSource,
    needs_signatures: bool,
}

impl ContentEncoder<'_> {
    /// None if nothing is left of the message: it had only thoughts of another provider.
    fn content(&self, message: &ChatMessage) -> Result<Option<Value>, UnsupportedItem> {
        let role = match message.role.as_str() {
            "user" => "user",
            "assistant" => "model",
            _ => {
                return Err(UnsupportedItem::new(
                    "a message's role must be user or assistant",
                ));
            }
        };
        let parts = match &message.content {
            MessageContent::Text(text) => vec![json!({"text": text})],
            MessageContent::Blocks(blocks) => self.parts(blocks)?,
        };
        Ok((!parts.is_empty()).then(|| json!({"role": role, "parts": parts})))
    }

    /// Results come first, in the order of their calls, as Gemini wants them.
    fn parts(&self, blocks: &[ContentBlock]) -> Result<Vec<Value>, UnsupportedItem> {
        let mut results = Vec::new();
        let mut parts = Vec::new();
        // Of the thoughts that led to the next part.
        let mut signature = None;
        let mut has_call = false;
        for block in blocks {
            let part = match block {
                ContentBlock::Text { text, .. } => json!({"text": text}),
                ContentBlock::Image { source, .. } | ContentBlock::Video { source, .. } => {
                    self.file(source)?
                }
                ContentBlock::Document { source, .. } => self.document(source)?,
                ContentBlock::ToolUse {
                    id, name, input, ..
                } => {
                    // Of parallel calls, only the first has a signature.
                    if !has_call && self.needs_signatures && signature.is_none() {
                        signature = Some(SIGNATURE_BYPASS.to_owned());
                    }
                    has_call = true;
                    json!({"functionCall": {"id": id, "name": name, "args": input}})
                }
                ContentBlock::ToolResult {
                    tool_use_id,
                    content,
                    is_error,
                    ..
                } => {
                    results.push(self.function_response(
                        tool_use_id,
                        content.as_ref(),
                        *is_error,
                    )?);
                    continue;
                }
                ContentBlock::Thinking {
                    signature: envelope,
                    ..
                } => {
                    signature = gemini_signature(envelope).or(signature);
                    continue;
                }
                ContentBlock::RedactedThinking { .. } => continue,
            };
            parts.push(with_signature(part, signature.take()));
        }
        if signature.is_some() {
            parts.push(with_signature(json!({"text": ""}), signature));
        }
        results.sort_by_key(|(order, _)| *order);
        let results = results.into_iter().map(|(_, part)| part);
        Ok(results.chain(parts).collect())
    }

    /// Media are inline: Gemini does not fetch external URLs.
    fn file(&self, source: &FileSource) -> Result<Value, UnsupportedItem> {
        let medium = MediaFile::find(source, self.media)?;
        let kind = medium.media_type.as_str();
        Ok(json!({"inlineData": {"mimeType": kind, "data": medium.base64()?}}))
    }

    /// Text documents are parts with text.
    fn document(&self, source: &FileSource) -> Result<Value, UnsupportedItem> {
        let medium = MediaFile::find(source, self.media)?;
        if medium.is_pdf() {
            return self.file(source);
        }
        Ok(json!({"text": medium.text()?}))
    }

    /// The part, and the order of its call.
    fn function_response(
        &self,
        tool_use_id: &str,
        content: Option<&ToolResultContent>,
        is_error: bool,
    ) -> Result<(usize, Value), UnsupportedItem> {
        let Some(call) = self.calls.get(tool_use_id) else {
            return Err(UnsupportedItem::new("a tool result answers no tool call"));
        };
        let (text, files) = match content {
            None => (String::new(), Vec::new()),
            Some(ToolResultContent::Text(text)) => (text.clone(), Vec::new()),
            Some(ToolResultContent::Blocks(blocks)) => self.result_blocks(blocks)?,
        };
        let key = if is_error { "error" } else { "output" };
        let response = present_fields([
            ("id", Some(json!(tool_use_id))),
            ("name", Some(json!(call.name))),
            ("response", Some(json!({key: text}))),
            ("parts", (!files.is_empty()).then_some(Value::Array(files))),
        ]);
        Ok((call.order, json!({"functionResponse": response})))
    }

    /// The text of a result, and its files.
    fn result_blocks(
        &self,
        blocks: &[ContentBlock],
    ) -> Result<(String, Vec<Value>), UnsupportedItem> {
        let mut texts = Vec::new();
        let mut files = Vec::new();
        for block in blocks {
            match block {
                ContentBlock::Text { text, .. } => texts.push(text.clone()),
                ContentBlock::Image { source, .. } => files.push(self.file(source)?),
                ContentBlock::Document { source, .. } => {
                    let medium = MediaFile::find(source, self.media)?;
                    if medium.is_pdf() {
                        files.push(self.file(source)?);
                    } else {
                        texts.push(medium.text()?);
                    }
                }
                ContentBlock::Video { .. }
                | ContentBlock::ToolUse { .. }
                | ContentBlock::ToolResult { .. }
                | ContentBlock::Thinking { .. }
                | ContentBlock::RedactedThinking { .. } => {
                    return Err(UnsupportedItem::new(
                        "a tool result may contain only text, images and documents",
                    ));
                }
            }
        }
        Ok((texts.join("\n"), files))
    }
}

/// None for thoughts of another provider, and for thoughts without a signature.
fn gemini_signature(envelope: &str) -> Option<String> {
    let own = ThinkingSignature::text_for(envelope, SignatureKind::Gemini)?;
    Some(own.text).filter(|text| !text.is_empty())
}

fn with_signature(mut part: Value, signature: Option<String>) -> Value {
    if let (Some(signature), Value::Object(fields)) = (signature, &mut part) {
        fields.insert("thoughtSignature".to_owned(), Value::String(signature));
    }
    part
}
