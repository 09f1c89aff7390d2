//! The Responses API.

use serde_json::Value;

use super::openai_chat::mark_lifetime;
use super::openai_fields::{check_cache, check_object, check_sampling, effort, tier};
use super::openai_tools::{ToolLayout, format_schema, tool_choice, tools};
use super::{ChatTask, ItemTask, ThinkingMode, list, part_text, text_field, texts};
use crate::invalid_request::InvalidRequest;
use crate::model_rules::{OpenAiRules, openai_rules};
use crate::prompt::{CacheLifetime, PromptText, mentions};
use crate::signature;

const MIN_OUTPUT_TOKENS: u64 = 16;

pub(super) fn parse(model: &str, body: &Value) -> Result<(usize, ItemTask), InvalidRequest> {
    let rules = openai_rules(model);
    let input = body.get("input").unwrap_or(&Value::Null);
    if !input.is_string() && list(Some(input)).is_empty() {
        return Err(InvalidRequest::new("Missing required parameter: 'input'.")
            .param("input")
            .code("missing_required_parameter"));
    }
    let reasoning = body.get("reasoning").unwrap_or(&Value::Null);
    check_object(
        reasoning,
        &["effort", "summary", "generate_summary", "context", "mode"],
        "reasoning",
    )?;
    let effort = effort(&rules, text_field(reasoning, "effort"), "reasoning.effort")?;
    check_sampling(&rules, effort, body)?;
    check_cache(&rules, body, input)?;
    let max_tokens = max_output_tokens(&rules, body)?;
    let items = list(Some(input));
    check_items(items)?;
    let text = body.get("text").unwrap_or(&Value::Null);
    check_object(text, &["format", "verbosity"], "text")?;
    let format = text.get("format").unwrap_or(&Value::Null);
    let tools = tools(body, ToolLayout::Flat, true)?;
    let prompt = read_prompt(&rules, body, input);
    let text_bytes = prompt.bytes();
    let include = list(body.get("include"));
    let chat = ChatTask {
        last_user_text: last_user_text(input),
        max_tokens,
        tool_choice: tool_choice(body, ToolLayout::Flat, &tools)?,
        tools,
        format: format_schema(format, format, "text.format", true)?,
        thinking: if effort == "none" {
            ThinkingMode::Off
        } else if text_field(reasoning, "summary").is_some() {
            ThinkingMode::Shown
        } else {
            ThinkingMode::Hidden
        },
        encrypts_reasoning: include.iter().any(|it| it == "reasoning.encrypted_content"),
        cache_marks: prompt.into_marks(),
        tier: tier(body)?,
        ..ChatTask::default()
    };
    Ok((text_bytes, ItemTask::Chat(Box::new(chat))))
}

fn max_output_tokens(rules: &OpenAiRules, body: &Value) -> Result<Option<u64>, InvalidRequest> {
    let limit = body.get("max_output_tokens").and_then(Value::as_u64);
    match limit.filter(|it| rules.is_known() && *it < MIN_OUTPUT_TOKENS) {
        Some(small) => {
            let message = format!(
                "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got {small} instead."
            );
            Err(InvalidRequest::new(message)
                .param("max_output_tokens")
                .code("integer_below_min_value"))
        }
        None => Ok(limit),
    }
}

/// Calls and their outputs belong together, and reasoning comes back unchanged.
fn check_items(items: &[Value]) -> Result<(), InvalidRequest> {
    let calls = call_ids(items, "function_call");
    let outputs = call_ids(items, "function_call_output");
    if let Some(id) = calls.iter().find(|id| !outputs.contains(id)) {
        let message = format!("No tool output found for function call {id}.");
        return Err(InvalidRequest::new(message).param("input"));
    }
    if let Some(id) = outputs.iter().find(|id| !calls.contains(id)) {
        let message = format!("No tool call found for function call output with call_id {id}.");
        return Err(InvalidRequest::new(message).param("input"));
    }
    for (index, item) in items.iter().enumerate() {
        match item_type(item) {
            "function_call" if !item.get("arguments").is_some_and(Value::is_string) => {
                let message =
                    format!("Invalid type for 'input[{index}].arguments': expected a string.");
                return Err(InvalidRequest::new(message)
                    .param(format!("input[{index}].arguments"))
                    .code("invalid_type"));
            }
            "message" => check_parts(item, index)?,
            "reasoning" => check_reasoning(item, items.get(index + 1), index)?,
            "function_call" | "function_call_output" => {}
            kind => {
                let message = format!("Invalid value: '{kind}'.");
                return Err(InvalidRequest::new(message)
                    .param(format!("input[{index}].type"))
                    .code("invalid_value"));
            }
        }
    }
    Ok(())
}

fn call_ids<'a>(items: &'a [Value], kind: &str) -> Vec<&'a str> {
    let items = items.iter().filter(|it| item_type(it) == kind);
    items.filter_map(|it| text_field(it, "call_id")).collect()
}

/// An item without a type is a message.
fn item_type(item: &Value) -> &str {
    text_field(item, "type").unwrap_or("message")
}

/// Text of the assistant is output, and everything else is input.
fn check_parts(item: &Value, index: usize) -> Result<(), InvalidRequest> {
    let is_assistant = text_field(item, "role") == Some("assistant");
    for (part_index, part) in list(item.get("content")).iter().enumerate() {
        let kind = text_field(part, "type").unwrap_or_default();
        let known: &[&str] = if is_assistant {
            &["output_text", "refusal"]
        } else {
            &["input_text", "input_image", "input_file"]
        };
        if !known.contains(&kind) {
            let message = format!(
                "Invalid value: '{kind}'. Supported values are: '{}'.",
                known.join("', '")
            );
            return Err(InvalidRequest::new(message)
                .param(format!("input[{index}].content[{part_index}]"))
                .code("invalid_value"));
        }
    }
    Ok(())
}

fn check_reasoning(item: &Value, next: Option<&Value>, index: usize) -> Result<(), InvalidRequest> {
    let id = text_field(item, "id").unwrap_or_default();
    if !item.get("summary").is_some_and(Value::is_array) {
        let path = format!("input[{index}].summary");
        return Err(
            InvalidRequest::new(format!("Missing required parameter: '{path}'."))
                .param(path)
                .code("missing_required_parameter"),
        );
    }
    let encrypted = text_field(item, "encrypted_content");
    if !encrypted.is_some_and(|it| signature::is_valid(it, id)) {
        let message = format!(
            "The encrypted content for item {id} could not be verified. Reason: Encrypted content could not be decrypted or parsed."
        );
        return Err(InvalidRequest::new(message).code("invalid_encrypted_content"));
    }
    let is_followed = next.is_some_and(|next| {
        item_type(next) == "function_call"
            || item_type(next) == "reasoning"
            || text_field(next, "role") == Some("assistant")
    });
    if !is_followed {
        let message = format!(
            "Item '{id}' of type 'reasoning' was provided without its required following item."
        );
        return Err(InvalidRequest::new(message).param("input"));
    }
    Ok(())
}

fn read_prompt(rules: &OpenAiRules, body: &Value, input: &Value) -> PromptText {
    let options = body.get("prompt_cache_options").unwrap_or(&Value::Null);
    let is_implicit = rules.is_known()
        && rules.has_cache_marks
        && text_field(options, "mode") != Some("explicit");
    let mut prompt = if is_implicit || mentions(input, "prompt_cache_breakpoint") {
        let key = text_field(body, "prompt_cache_key").unwrap_or_default();
        PromptText::with_marks(key, if rules.is_known() { 1024 } else { 1 })
    } else {
        PromptText::default()
    };
    for tool in list(body.get("tools")) {
        prompt.add_json(tool);
    }
    prompt.add(text_field(body, "instructions").unwrap_or_default());
    prompt.add(input.as_str().unwrap_or_default());
    for item in list(Some(input)) {
        for name in ["content", "output", "summary"] {
            match item.get(name) {
                Some(Value::Array(parts)) => {
                    for part in parts {
                        prompt.add(part_text(part).unwrap_or_default());
                        if let Some(mark) = part.get("prompt_cache_breakpoint") {
                            prompt.mark(mark_lifetime(mark));
                        }
                    }
                }
                Some(content) => prompt.add_all(&texts(content)),
                None => {}
            }
        }
        prompt.add(text_field(item, "arguments").unwrap_or_default());
    }
    if is_implicit {
        prompt.mark(CacheLifetime::ThirtyMinutes);
    }
    prompt
}

/// The last user message; in a tool loop, the results and what follows them.
fn last_user_text(input: &Value) -> String {
    if let Some(text) = input.as_str() {
        return text.to_owned();
    }
    let mut user = String::new();
    let mut results: Vec<String> = Vec::new();
    for item in list(Some(input)) {
        let joined = |name: &str| texts(item.get(name).unwrap_or(&Value::Null)).join("\n");
        match (item_type(item), text_field(item, "role")) {
            ("message", Some("user")) => user = joined("content"),
            ("message", Some("assistant")) | ("function_call", _) => results.clear(),
            ("function_call_output", _) => {
                user.clear();
                results.push(joined("output"));
            }
            _ => {}
        }
    }
    if results.is_empty() {
        return user;
    }
    results.extend(Some(user).filter(|text| !text.is_empty()));
    results.join("\n")
}
