//! The input items of Responses as a conversation.

use serde_json::{Value, json};

use super::conversation::{ConversationWriter, TurnContent};
use super::defaults::ConversionDefaults;
use super::fault::RequestFault;
use super::fields::Fields;
use super::{parts, tools};

/// Begins the `encrypted_content` of thoughts that the provider encrypted whole. Other thoughts
/// have a signature there.
pub(crate) const REDACTED_PREFIX: &str = "redacted:";
/// Fields of an answer that callers send back with its items.
const ANSWER_FIELDS: &[&str] = &["id", "status"];

pub(super) fn add_items(
    items: Vec<Value>,
    conversation: &mut ConversationWriter,
    defaults: &ConversionDefaults,
) -> Result<(), RequestFault> {
    for (index, item) in items.into_iter().enumerate() {
        let mut item = Fields::of(item, format!("input[{index}]"))?;
        item.accept(ANSWER_FIELDS);
        let kind = item.text("type")?;
        match kind.as_deref() {
            None | Some("message") => add_message(&mut item, conversation, defaults)?,
            Some("function_call") => add_call(&mut item, conversation)?,
            Some("function_call_output") => {
                let id = item.required_text("call_id")?;
                let path = item.path("output");
                let output = item.require("output")?;
                conversation.add_result(tools::result_block(&id, output, &path, defaults)?);
            }
            Some("reasoning") => add_reasoning(&mut item, conversation)?,
            Some(_) => {
                let advice =
                    "Items are message, function_call, function_call_output and reasoning.";
                let path = item.path("type");
                return Err(RequestFault::unsupported_value(&path, advice));
            }
        }
        item.finish()?;
    }
    Ok(())
}

fn add_message(
    item: &mut Fields,
    conversation: &mut ConversationWriter,
    defaults: &ConversionDefaults,
) -> Result<(), RequestFault> {
    // Marks the part of an answer that some models write before calls.
    item.accept(&["phase"]);
    let path = item.path("content");
    let role = item.required_text("role")?;
    let content = item.require("content")?;
    match role.as_str() {
        "user" => conversation.add_user(parts::content(content, &path, defaults)?),
        "assistant" => conversation.add_assistant_item(parts::content(content, &path, defaults)?),
        "system" => add_instructions(content, &path, "system", conversation)?,
        "developer" => add_instructions(content, &path, "developer", conversation)?,
        _ => {
            let advice = "Use system, developer, user or assistant.";
            let path = item.path("role");
            return Err(RequestFault::unsupported_value(&path, advice));
        }
    }
    Ok(())
}

fn add_instructions(
    content: Value,
    path: &str,
    role: &'static str,
    conversation: &mut ConversationWriter,
) -> Result<(), RequestFault> {
    let text = parts::text_content(content, path)?;
    if conversation.has_turns() {
        conversation.add_later_instructions(role, TurnContent::Text(text));
    } else {
        conversation.add_instructions(text);
    }
    Ok(())
}

fn add_call(item: &mut Fields, conversation: &mut ConversationWriter) -> Result<(), RequestFault> {
    let id = item.required_text("call_id")?;
    let name = item.required_text("name")?;
    let arguments = item.text("arguments")?.unwrap_or_default();
    let call = tools::call_block(&id, &name, &arguments);
    conversation.add_assistant_item(TurnContent::Blocks(vec![call]));
    Ok(())
}

/// Thoughts of an earlier answer. Without what Longshore wrote into them they cannot be sent back,
/// and the provider would not use them.
fn add_reasoning(
    item: &mut Fields,
    conversation: &mut ConversationWriter,
) -> Result<(), RequestFault> {
    let summary = item.list("summary")?.unwrap_or_default();
    item.accept(&["content"]);
    let Some(encrypted) = item.text("encrypted_content")? else {
        return Ok(());
    };
    let block = if let Some(data) = encrypted.strip_prefix(REDACTED_PREFIX) {
        json!({"type": "redacted_thinking", "data": data})
    } else {
        let texts = summary.iter().filter_map(|part| part.get("text")?.as_str());
        let thinking = texts.collect::<Vec<&str>>().join("\n\n");
        json!({"type": "thinking", "thinking": thinking, "signature": encrypted})
    };
    conversation.add_assistant_item(TurnContent::Blocks(vec![block]));
    Ok(())
}
