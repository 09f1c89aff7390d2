//! The messages of Chat Completions as a conversation.

use serde_json::Value;

use super::conversation::{ConversationWriter, TurnContent};
use super::defaults::ConversionDefaults;
use super::fault::RequestFault;
use super::fields::Fields;
use super::{parts, tools};

/// Fields of an answer that callers send back with it. They say nothing that the text does not.
const ANSWER_FIELDS: &[&str] = &["annotations"];

pub(super) fn convert(
    messages: Vec<Value>,
    defaults: &ConversionDefaults,
) -> Result<ConversationWriter, RequestFault> {
    let mut conversation = ConversationWriter::default();
    for (index, message) in messages.into_iter().enumerate() {
        let mut message = Fields::of(message, format!("messages[{index}]"))?;
        match message.required_text("role")?.as_str() {
            "system" => add_instructions(&mut conversation, &mut message, "system")?,
            "developer" => add_instructions(&mut conversation, &mut message, "developer")?,
            "user" => {
                let path = message.path("content");
                let content = message.require("content")?;
                conversation.add_user(parts::content(content, &path, defaults)?);
            }
            "assistant" => {
                let content = read_answer(&mut message, defaults)?;
                conversation.add_assistant(content);
            }
            "tool" => {
                let id = message.required_text("tool_call_id")?;
                let path = message.path("content");
                let content = message.require("content")?;
                conversation.add_result(tools::result_block(&id, content, &path, defaults)?);
            }
            _ => {
                let advice = "Use system, developer, user, assistant or tool.";
                let path = message.path("role");
                return Err(RequestFault::unsupported_value(&path, advice));
            }
        }
        message.finish()?;
    }
    Ok(conversation)
}

/// Instructions at the head are the system prompt. Later ones stay where they are.
fn add_instructions(
    conversation: &mut ConversationWriter,
    message: &mut Fields,
    role: &'static str,
) -> Result<(), RequestFault> {
    let path = message.path("content");
    let text = parts::text_content(message.require("content")?, &path)?;
    if conversation.has_turns() {
        conversation.add_later_instructions(role, TurnContent::Text(text));
    } else {
        conversation.add_instructions(text);
    }
    Ok(())
}

/// An earlier answer: its text, then its calls.
fn read_answer(
    message: &mut Fields,
    defaults: &ConversionDefaults,
) -> Result<TurnContent, RequestFault> {
    message.accept(ANSWER_FIELDS);
    message.refuse(&["function_call"], "Use tool_calls.")?;
    let path = message.path("content");
    let content = message.take("content");
    let refusal = message.text("refusal")?;
    let content = content.or(refusal.map(Value::String));
    let content = content.map(|content| parts::content(content, &path, defaults));
    let content = content.transpose()?;
    let calls = read_calls(message)?;
    if calls.is_empty() {
        return content.ok_or_else(|| RequestFault::missing(&path));
    }
    // A call often has an empty text beside it, and providers refuse empty blocks.
    let content = content.filter(|it| !matches!(it, TurnContent::Text(text) if text.is_empty()));
    let mut blocks = content.map(TurnContent::into_blocks).unwrap_or_default();
    blocks.extend(calls);
    Ok(TurnContent::Blocks(blocks))
}

fn read_calls(message: &mut Fields) -> Result<Vec<Value>, RequestFault> {
    let place = message.path("tool_calls");
    let calls = message.list("tool_calls")?.unwrap_or_default();
    let calls = calls.into_iter().enumerate().map(|(index, call)| {
        let mut call = Fields::of(call, format!("{place}[{index}]"))?;
        // The position, in the parts of a stream.
        call.accept(&["index"]);
        let kind = call.text("type")?;
        if kind.is_some_and(|kind| kind != "function") {
            let advice = "Calls are of functions.";
            return Err(RequestFault::unsupported_value(&call.path("type"), advice));
        }
        let id = call.required_text("id")?;
        let path = call.path("function");
        let function = call.object("function")?;
        let mut function = function.ok_or_else(|| RequestFault::missing(&path))?;
        let name = function.required_text("name")?;
        let arguments = function.text("arguments")?.unwrap_or_default();
        function.finish()?;
        call.finish()?;
        Ok(tools::call_block(&id, &name, &arguments))
    });
    calls.collect()
}
