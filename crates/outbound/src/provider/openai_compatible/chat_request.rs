//! Builds Chat Completions requests.

use domain::params::ChatParams;
use domain::params::thinking::Thinking;
use domain::params::tools::{Tool, ToolChoice};
use serde_json::{Map, Value, json};

use super::chat_messages;
use super::dialect::ServerDialect;
use super::request_context::RequestContext;
use crate::provider::media::UnsupportedItem;
use crate::provider::request_fields::{self, present_fields};

pub(super) fn body(
    chat: &ChatParams,
    context: &RequestContext<'_>,
) -> Result<Map<String, Value>, UnsupportedItem> {
    let mut body = Map::new();
    let messages = chat_messages::encode(chat, context)?;
    body.insert("model".to_owned(), json!(context.route.upstream_model));
    body.insert("messages".to_owned(), Value::Array(messages));
    // Reasoning models refuse the old name; older servers know no other.
    let max_tokens = match context.dialect {
        ServerDialect::OpenAi | ServerDialect::Compatible => "max_completion_tokens",
        ServerDialect::SelfHosted => "max_tokens",
    };
    let most = request_fields::max_tokens(chat, context.features());
    body.insert(max_tokens.to_owned(), json!(most));
    context.put_sampling(chat, &mut body);
    if let Some(stops) = request_fields::stop_sequences(chat, context.features()) {
        body.insert("stop".to_owned(), stops);
    }
    put_tools(chat, context, &mut body);
    if let Some(format) = chat.output_format() {
        let schema = context.schema(format);
        let format = json!({"type": "json_schema", "json_schema": schema});
        body.insert("response_format".to_owned(), format);
    }
    put_thinking(chat, context, &mut body)?;
    if let Some(seed) = chat.seed {
        body.insert("seed".to_owned(), json!(seed));
    }
    context.put_tenant(&mut body);
    request_fields::add_options(&mut body, context.provider_options(chat));
    Ok(body)
}

fn put_tools(chat: &ChatParams, context: &RequestContext<'_>, body: &mut Map<String, Value>) {
    // Not every server can force one tool of several, but each can force the only one.
    let only = match &chat.tool_choice {
        Some(ToolChoice::Tool { name, .. }) if context.dialect.is_self_hosted() => Some(name),
        Some(
            ToolChoice::Auto { .. }
            | ToolChoice::Any { .. }
            | ToolChoice::Tool { .. }
            | ToolChoice::None,
        )
        | None => None,
    };
    let tools = chat.tools.iter();
    let tools: Vec<Value> = tools
        .filter(|tool| only.is_none_or(|name| tool.name == *name))
        .map(|tool| function(tool, context.dialect))
        .collect();
    if !tools.is_empty() {
        body.insert("tools".to_owned(), Value::Array(tools));
    }
    let Some(choice) = &chat.tool_choice else {
        return;
    };
    let choice_value = match choice {
        ToolChoice::Auto { .. } => json!("auto"),
        ToolChoice::Any { .. } => json!("required"),
        ToolChoice::Tool { .. } if only.is_some() => json!("required"),
        ToolChoice::Tool { name, .. } => json!({"type": "function", "function": {"name": name}}),
        ToolChoice::None => json!("none"),
    };
    body.insert("tool_choice".to_owned(), choice_value);
    if choice.disables_parallel_use() {
        body.insert("parallel_tool_calls".to_owned(), json!(false));
    }
}

fn function(tool: &Tool, dialect: ServerDialect) -> Value {
    let strict = tool.strict.filter(|_| !dialect.is_self_hosted());
    let function = present_fields([
        ("name", Some(json!(tool.name))),
        ("description", tool.description.as_ref().map(|it| json!(it))),
        ("parameters", Some(json!(tool.input_schema))),
        ("strict", strict.map(|it| json!(it))),
    ]);
    json!({"type": "function", "function": function})
}

fn put_thinking(
    chat: &ChatParams,
    context: &RequestContext<'_>,
    body: &mut Map<String, Value>,
) -> Result<(), UnsupportedItem> {
    if let Some(effort) = context.effort(chat) {
        body.insert("reasoning_effort".to_owned(), json!(effort));
    }
    if let Some(Thinking::Enabled { budget_tokens, .. }) = chat.thinking {
        if !context.dialect.is_self_hosted() {
            return Err(UnsupportedItem::new(
                "the model does not support a budget for thinking",
            ));
        }
        body.insert("thinking_token_budget".to_owned(), json!(budget_tokens));
    }
    Ok(())
}
