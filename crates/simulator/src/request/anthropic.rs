//! Anthropic's `params`. Errors in them appear when the item runs, not before.

use serde_json::Value;

use super::{ChatTask, ItemRequest, ItemTask, count_bytes, strings, texts};

pub(super) fn parse(params: &Value) -> Result<ItemRequest, String> {
    let model = params.get("model").and_then(Value::as_str);
    let model = model.ok_or("model: Field required")?.to_owned();
    let max_tokens = params.get("max_tokens").and_then(Value::as_u64);
    let max_tokens = max_tokens.ok_or("max_tokens: Field required")?;
    if max_tokens == 0 {
        return Err("max_tokens: must be greater than or equal to 1".to_owned());
    }
    if params.get("stream").and_then(Value::as_bool) == Some(true) {
        return Err("stream: not supported here".to_owned());
    }
    let temperature = params.get("temperature").and_then(Value::as_f64);
    if temperature.is_some_and(|it| !(0.0..=1.0).contains(&it)) {
        return Err("temperature: range: 0..1".to_owned());
    }
    let messages = params.get("messages").and_then(Value::as_array);
    let messages = messages
        .filter(|list| !list.is_empty())
        .ok_or("messages: at least one message is required")?;
    let mut text_bytes = count_bytes(&texts(params.get("system").unwrap_or(&Value::Null)));
    let mut last_user_text = String::new();
    for (index, message) in messages.iter().enumerate() {
        let content = texts(message.get("content").unwrap_or(&Value::Null));
        text_bytes += count_bytes(&content);
        match message.get("role").and_then(Value::as_str) {
            Some("user") => last_user_text = content.join("\n"),
            Some("assistant") => {}
            _ => {
                return Err(format!(
                    "messages.{index}.role: Input should be 'user' or 'assistant'"
                ));
            }
        }
    }
    let chat = ChatTask {
        last_user_text,
        max_tokens: Some(max_tokens),
        stops: strings(params.get("stop_sequences")),
    };
    Ok(ItemRequest {
        model,
        text_bytes,
        task: ItemTask::Chat(chat),
    })
}
