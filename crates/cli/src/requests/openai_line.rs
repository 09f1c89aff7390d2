//! Lines of `OpenAI`'s batch files become loads. What a load cannot express is a fault.

use serde_json::{Map, Value};

/// Fields that change nothing here.
const IGNORED_FIELDS: &[&str] = &["user", "store", "metadata", "service_tier"];

/// The `params` of a line with `url` and `body`.
pub fn convert(url: &str, body: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    match url {
        "/v1/chat/completions" => convert_chat(body),
        "/v1/embeddings" => convert_embedding(body),
        other => Err(format!("url {other} is not supported")),
    }
}

fn convert_chat(body: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    let mut params = Map::new();
    for (name, value) in body.iter().filter(|(_, value)| !value.is_null()) {
        match name.as_str() {
            "model" | "temperature" | "top_p" | "seed" => {
                params.insert(name.clone(), value.clone());
            }
            "max_tokens" | "max_completion_tokens" => {
                params.insert("max_tokens".to_owned(), value.clone());
            }
            "stop" => {
                let list = if value.is_array() {
                    value.clone()
                } else {
                    Value::Array(vec![value.clone()])
                };
                params.insert("stop_sequences".to_owned(), list);
            }
            "messages" => convert_messages(value, &mut params)?,
            "n" if value.as_u64() == Some(1) => {}
            "stream" if value == &Value::Bool(false) => {}
            ignored if IGNORED_FIELDS.contains(&ignored) => {}
            other => return Err(format!("body.{other} cannot be converted")),
        }
    }
    Ok(params)
}

/// Instructions at the head become `system`.
fn convert_messages(messages: &Value, params: &mut Map<String, Value>) -> Result<(), String> {
    let messages = messages.as_array().ok_or("body.messages is not an array")?;
    let is_instruction = |message: &Value| {
        let role = message.get("role").and_then(Value::as_str);
        matches!(role, Some("system" | "developer"))
    };
    let head = messages.iter().take_while(|it| is_instruction(it));
    let instructions: Vec<&str> = head
        .map(|message| message.get("content").and_then(Value::as_str))
        .collect::<Option<_>>()
        .ok_or("an instruction is not a text")?;
    let rest = messages.get(instructions.len()..).unwrap_or_default();
    if rest.iter().any(is_instruction) {
        return Err("an instruction after the first message cannot be converted".to_owned());
    }
    if !instructions.is_empty() {
        let system = Value::String(instructions.join("\n\n"));
        params.insert("system".to_owned(), system);
    }
    params.insert("messages".to_owned(), Value::Array(rest.to_vec()));
    Ok(())
}

fn convert_embedding(body: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    let mut params = Map::new();
    for (name, value) in body.iter().filter(|(_, value)| !value.is_null()) {
        match name.as_str() {
            "model" | "dimensions" => {
                params.insert(name.clone(), value.clone());
            }
            "input" => {
                params.insert("input_text".to_owned(), value.clone());
            }
            "encoding_format" if value == "float" => {}
            ignored if IGNORED_FIELDS.contains(&ignored) => {}
            other => return Err(format!("body.{other} cannot be converted")),
        }
    }
    Ok(params)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn convert_json(url: &str, body: &Value) -> Result<Value, String> {
        convert(url, body.as_object().unwrap()).map(Value::Object)
    }

    #[test]
    fn a_chat_line_becomes_params() {
        let body = json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": "Hello"},
            ],
            "max_completion_tokens": 5,
            "stop": "END",
            "n": 1,
        });
        let params = convert_json("/v1/chat/completions", &body).unwrap();
        let expected = json!({
            "model": "m",
            "system": "Be kind.",
            "messages": [{"role": "user", "content": "Hello"}],
            "max_tokens": 5,
            "stop_sequences": ["END"],
        });
        assert_eq!(params, expected);
    }

    #[test]
    fn what_cannot_be_expressed_is_a_fault() {
        let fault = convert_json("/v1/chat/completions", &json!({"logprobs": true}));
        assert_eq!(fault, Err("body.logprobs cannot be converted".to_owned()));
        let fault = convert_json("/v1/responses", &json!({}));
        assert_eq!(fault, Err("url /v1/responses is not supported".to_owned()));
    }
}
