//! Chat Completions.

use serde_json::Value;

use super::openai_fields::{check_cache, check_sampling, check_stop, effort, tier};
use super::openai_tools::{ToolLayout, format_schema, tool_choice, tools};
use super::{ChatTask, ItemTask, ThinkingMode, list, part_text, strings, text_field, texts};
use crate::invalid_request::InvalidRequest;
use crate::model_rules::{ChatToolRule, OpenAiRules, openai_rules};
use crate::prompt::{CacheLifetime, PromptText, mentions};
use crate::provider::SimulatedProvider;

pub(super) fn parse(
    provider: SimulatedProvider,
    model: &str,
    body: &Value,
) -> Result<(usize, ItemTask), InvalidRequest> {
    let is_openai = provider == SimulatedProvider::OpenAi;
    // A server may call its model as it likes.
    let rules = openai_rules(if is_openai { model } else { "" });
    let messages = body.get("messages").and_then(Value::as_array);
    let messages = messages
        .filter(|list| !list.is_empty())
        .ok_or("missing required parameter: 'messages'")?;
    let requested = text_field(body, "reasoning_effort");
    let effort = effort(&rules, requested, "reasoning_effort")?;
    if is_openai {
        check_fields(&rules, requested, body)?;
        check_sampling(&rules, effort, body)?;
        check_tool_results(messages)?;
    }
    let tools = tools(body, ToolLayout::Nested, is_openai)?;
    let tool_choice = tool_choice(body, ToolLayout::Nested, &tools)?;
    let prompt = read_prompt(&rules, body, messages);
    let names = ["max_completion_tokens", "max_tokens"];
    let max_tokens = names.iter().find_map(|name| body.get(*name)?.as_u64());
    let text_bytes = prompt.bytes();
    let chat = ChatTask {
        last_user_text: last_user_text(messages),
        max_tokens,
        stops: strings(body.get("stop")),
        tools,
        tool_choice,
        format: response_format(body, is_openai)?,
        thinking: thinking(provider, effort, body),
        cache_marks: prompt.into_marks(),
        tier: tier(body)?,
        ..ChatTask::default()
    };
    Ok((text_bytes, ItemTask::Chat(Box::new(chat))))
}

fn check_fields(
    rules: &OpenAiRules,
    effort: Option<&str>,
    body: &Value,
) -> Result<(), InvalidRequest> {
    check_stop(rules, body)?;
    if rules.reasons() && body.get("max_tokens").is_some() {
        let message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
        return Err(InvalidRequest::new(message)
            .param("max_tokens")
            .code("unsupported_parameter"));
    }
    check_cache(rules, body, body.get("messages").unwrap_or(&Value::Null))?;
    let has_tools = body.get("tools").is_some();
    if has_tools && list(body.get("tools")).is_empty() {
        let message = "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.";
        return Err(InvalidRequest::new(message)
            .param("tools")
            .code("empty_array"));
    }
    if body.get("parallel_tool_calls").is_some() && !has_tools {
        let message = "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.";
        return Err(InvalidRequest::new(message).param("parallel_tool_calls"));
    }
    let is_refused = match rules.chat_tools {
        ChatToolRule::Accepted => false,
        ChatToolRule::RefusedWithEffort => effort.is_some_and(|it| it != "none"),
        ChatToolRule::RefusedUnlessNone => effort != Some("none"),
    };
    if has_tools && is_refused {
        let message = "Function tools with reasoning_effort are not supported for this model in /v1/chat/completions. Please use /v1/responses instead.";
        return Err(InvalidRequest::new(message).param("reasoning_effort"));
    }
    Ok(())
}

/// Every call is answered by a message right after it, and nothing else is.
fn check_tool_results(messages: &[Value]) -> Result<(), InvalidRequest> {
    let mut open: Vec<&str> = Vec::new();
    let mut may_answer = false;
    for (index, message) in messages.iter().enumerate() {
        if text_field(message, "role") == Some("tool") {
            let id = text_field(message, "tool_call_id").unwrap_or_default();
            if !may_answer || !open.contains(&id) {
                let message = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
                return Err(InvalidRequest::new(message).param(format!("messages.[{index}].role")));
            }
            open.retain(|it| *it != id);
            continue;
        }
        refuse_open_calls(&open, index)?;
        let calls = list(message.get("tool_calls"));
        may_answer = !calls.is_empty();
        open = calls
            .iter()
            .filter_map(|call| text_field(call, "id"))
            .collect();
        if let Some(call) = calls.iter().find(|call| {
            let arguments = call.get("function").and_then(|it| it.get("arguments"));
            !arguments.is_some_and(Value::is_string)
        }) {
            let message = format!("Invalid type for 'tool_calls.function.arguments' in {call}.");
            return Err(InvalidRequest::new(message)
                .param(format!("messages.[{index}].tool_calls"))
                .code("invalid_type"));
        }
    }
    refuse_open_calls(&open, messages.len())
}

fn refuse_open_calls(open: &[&str], index: usize) -> Result<(), InvalidRequest> {
    if open.is_empty() {
        return Ok(());
    }
    let message = format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
        open.join(", ")
    );
    Err(InvalidRequest::new(message).param(format!("messages.[{index}].role")))
}

/// The text of the request. Marks end prefixes; without them newer models cache the whole prompt.
fn read_prompt(rules: &OpenAiRules, body: &Value, messages: &[Value]) -> PromptText {
    let options = body.get("prompt_cache_options").unwrap_or(&Value::Null);
    let is_implicit = rules.is_known()
        && rules.has_cache_marks
        && text_field(options, "mode") != Some("explicit");
    let has_marks = messages
        .iter()
        .any(|message| mentions(message, "prompt_cache_breakpoint"));
    let mut prompt = if is_implicit || has_marks {
        let key = text_field(body, "prompt_cache_key").unwrap_or_default();
        PromptText::with_marks(key, if rules.is_known() { 1024 } else { 1 })
    } else {
        PromptText::default()
    };
    for tool in list(body.get("tools")) {
        prompt.add_json(tool);
    }
    for message in messages {
        match message.get("content") {
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
        for call in list(message.get("tool_calls")) {
            prompt.add_json(call);
        }
    }
    if is_implicit {
        prompt.mark(CacheLifetime::ThirtyMinutes);
    }
    prompt
}

pub(super) fn mark_lifetime(mark: &Value) -> CacheLifetime {
    if text_field(mark, "ttl") == Some("12h") {
        CacheLifetime::TwelveHours
    } else {
        CacheLifetime::ThirtyMinutes
    }
}

/// The last user message; in a tool loop, the results and what follows them.
fn last_user_text(messages: &[Value]) -> String {
    let mut user = String::new();
    let mut results: Vec<String> = Vec::new();
    for message in messages {
        let content = texts(message.get("content").unwrap_or(&Value::Null)).join("\n");
        match text_field(message, "role") {
            Some("user") => user = content,
            Some("tool") => {
                user.clear();
                results.push(content);
            }
            Some("assistant") => results.clear(),
            Some(_) | None => {}
        }
    }
    if results.is_empty() {
        return user;
    }
    results.extend(Some(user).filter(|text| !text.is_empty()));
    results.join("\n")
}

fn response_format(body: &Value, is_openai: bool) -> Result<Option<Value>, InvalidRequest> {
    let format = body.get("response_format").unwrap_or(&Value::Null);
    if is_openai && text_field(format, "type") == Some("json_object") {
        let messages = body.get("messages").map(Value::to_string);
        if !messages.is_some_and(|it| it.to_lowercase().contains("json")) {
            let message = "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.";
            return Err(InvalidRequest::new(message).param("messages"));
        }
    }
    // llama.cpp also takes the schema beside the type.
    let nested = format.get("json_schema").unwrap_or(format);
    format_schema(format, nested, "response_format.json_schema", is_openai)
}

fn thinking(provider: SimulatedProvider, effort: &str, body: &Value) -> ThinkingMode {
    let template = body.get("chat_template_kwargs");
    let is_enabled = template.and_then(|it| it.get("enable_thinking")) == Some(&Value::Bool(true));
    let has_budget = body.get("thinking_token_budget").is_some();
    if effort == "none" && !is_enabled && !has_budget {
        return ThinkingMode::Off;
    }
    match provider {
        SimulatedProvider::Server => ThinkingMode::Shown,
        // Chat Completions never returns thoughts.
        SimulatedProvider::OpenAi | SimulatedProvider::Anthropic | SimulatedProvider::Gemini => {
            ThinkingMode::Hidden
        }
    }
}
