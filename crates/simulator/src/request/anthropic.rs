//! Anthropic's `params`. Errors in them appear when the item runs, not before.

use serde_json::Value;

use super::anthropic_content::{check_conversation, last_user_text, read_prompt};
use super::anthropic_features::{
    check_cache_marks, check_sampling, output_format, thinking, tool_choice, tools,
};
use super::{ChatTask, ItemRequest, ItemTask, strings};
use crate::invalid_request::InvalidRequest;
use crate::known_fields::unknown_field;
use crate::model_rules::anthropic_rules;
use crate::provider::SimulatedProvider;

const FIELDS: &[&str] = &[
    "cache_control",
    "container",
    "diagnostics",
    "inference_geo",
    "max_tokens",
    "messages",
    "metadata",
    "model",
    "output_config",
    "service_tier",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
    "user_profile_id",
    "workspace_id",
];

pub(super) fn parse(params: &Value) -> Result<ItemRequest, InvalidRequest> {
    let model = params.get("model").and_then(Value::as_str);
    let model = model.ok_or("model: Field required")?.to_owned();
    let max_tokens = params.get("max_tokens").and_then(Value::as_u64);
    let max_tokens = max_tokens.ok_or("max_tokens: Field required")?;
    if max_tokens == 0 {
        return Err("max_tokens: must be greater than or equal to 1".into());
    }
    if params.get("stream").and_then(Value::as_bool) == Some(true) {
        return Err("stream: not supported here".into());
    }
    if let Some(name) = unknown_field(params, FIELDS) {
        return Err(format!("{name}: Extra inputs are not permitted").into());
    }
    let messages = params.get("messages").and_then(Value::as_array);
    let messages = messages
        .filter(|list| !list.is_empty())
        .ok_or("messages: at least one message is required")?;
    let rules = anthropic_rules(&model);
    let thinking = thinking(&rules, params, max_tokens)?;
    check_sampling(&rules, params, thinking)?;
    let tools = tools(params)?;
    let tool_choice = tool_choice(params, &tools)?;
    let format = output_format(&rules, params)?;
    check_cache_marks(params)?;
    check_conversation(&rules, params, messages)?;
    let prompt = read_prompt(&rules, params, messages);
    let text_bytes = prompt.bytes();
    let chat = ChatTask {
        last_user_text: last_user_text(messages),
        max_tokens: Some(max_tokens),
        stops: strings(params.get("stop_sequences")),
        tools,
        tool_choice,
        format,
        thinking,
        cache_marks: prompt.into_marks(),
        ..ChatTask::default()
    };
    Ok(ItemRequest {
        provider: SimulatedProvider::Anthropic,
        model,
        text_bytes,
        task: ItemTask::Chat(Box::new(chat)),
    })
}
