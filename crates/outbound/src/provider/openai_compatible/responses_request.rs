//! Builds requests of the Responses API. It has no stop sequences and no seed.

use domain::features::ThinkingSupport;
use domain::params::ChatParams;
use domain::params::content::SystemPrompt;
use domain::params::thinking::{Thinking, ThinkingDisplay};
use domain::params::tools::{Tool, ToolChoice};
use serde_json::{Map, Value, json};

use super::request_context::RequestContext;
use super::responses_input;
use crate::provider::media::UnsupportedItem;
use crate::provider::request_fields::{self, present_fields};

/// An option that is a field of `text` here, and a field of the body in Chat Completions.
const VERBOSITY: &str = "verbosity";

pub(super) fn body(
    chat: &ChatParams,
    context: &RequestContext<'_>,
) -> Result<Map<String, Value>, UnsupportedItem> {
    if matches!(chat.thinking, Some(Thinking::Enabled { .. })) {
        return Err(UnsupportedItem::new(
            "the model does not support a budget for thinking",
        ));
    }
    let mut body = Map::new();
    let input = responses_input::encode(chat, context)?;
    body.insert("model".to_owned(), json!(context.route.upstream_model));
    let system = chat.system.as_ref();
    let as_field = |system: &&SystemPrompt| !responses_input::is_system_item(system, context);
    if let Some(system) = system.filter(as_field) {
        body.insert("instructions".to_owned(), json!(system.joined()));
    }
    body.insert("input".to_owned(), Value::Array(input));
    let max_tokens = request_fields::max_tokens(chat, context.features());
    body.insert("max_output_tokens".to_owned(), json!(max_tokens));
    context.put_sampling(chat, &mut body);
    put_tools(chat, &mut body);
    put_text(chat, context, &mut body);
    put_reasoning(chat, context, &mut body);
    // Otherwise the provider keeps the response for a month.
    body.insert("store".to_owned(), json!(false));
    context.put_tenant(&mut body);
    let options = context.provider_options(chat);
    request_fields::add_options(&mut body, options.filter(|(name, _)| *name != VERBOSITY));
    Ok(body)
}

fn put_tools(chat: &ChatParams, body: &mut Map<String, Value>) {
    if !chat.tools.is_empty() {
        let tools = chat.tools.iter().map(function);
        body.insert("tools".to_owned(), Value::Array(tools.collect()));
    }
    let Some(choice) = &chat.tool_choice else {
        return;
    };
    let choice_value = match choice {
        ToolChoice::Auto { .. } => json!("auto"),
        ToolChoice::Any { .. } => json!("required"),
        ToolChoice::Tool { name, .. } => json!({"type": "function", "name": name}),
        ToolChoice::None => json!("none"),
    };
    body.insert("tool_choice".to_owned(), choice_value);
    if choice.disables_parallel_use() {
        body.insert("parallel_tool_calls".to_owned(), json!(false));
    }
}

/// Without `strict`, this API enforces the schema, and refuses most schemas that callers write.
fn function(tool: &Tool) -> Value {
    Value::Object(present_fields([
        ("type", Some(json!("function"))),
        ("name", Some(json!(tool.name))),
        ("description", tool.description.as_ref().map(|it| json!(it))),
        ("parameters", Some(json!(tool.input_schema))),
        ("strict", Some(json!(tool.strict.unwrap_or_default()))),
    ]))
}

fn put_text(chat: &ChatParams, context: &RequestContext<'_>, body: &mut Map<String, Value>) {
    let mut text = Map::new();
    if let Some(format) = chat.output_format() {
        let mut described = Map::new();
        described.insert("type".to_owned(), json!("json_schema"));
        described.extend(context.schema(format));
        text.insert("format".to_owned(), Value::Object(described));
    }
    let mut options = context.provider_options(chat);
    if let Some((name, value)) = options.find(|(name, _)| *name == VERBOSITY) {
        text.insert(name.clone(), value.clone());
    }
    if !text.is_empty() {
        body.insert("text".to_owned(), Value::Object(text));
    }
}

fn put_reasoning(chat: &ChatParams, context: &RequestContext<'_>, body: &mut Map<String, Value>) {
    let mut reasoning = Map::new();
    if let Some(effort) = context.effort(chat) {
        reasoning.insert("effort".to_owned(), json!(effort));
    }
    let display = chat.thinking.and_then(Thinking::display);
    if display == Some(ThinkingDisplay::Summarized) {
        reasoning.insert("summary".to_owned(), json!("auto"));
    }
    if !reasoning.is_empty() {
        body.insert("reasoning".to_owned(), Value::Object(reasoning));
    }
    // The next turn needs the thoughts, because the provider stores nothing. A model that does not
    // think refuses the field.
    let is_needed = !chat.tools.is_empty() || chat.thinking.is_some();
    let thinks = context.features().thinking != ThinkingSupport::none()
        && chat.thinking != Some(Thinking::Disabled);
    if is_needed && thinks {
        let include = json!(["reasoning.encrypted_content"]);
        body.insert("include".to_owned(), include);
    }
}
