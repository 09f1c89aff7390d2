//! Makes a load of an item. Our params are nearly theirs, so most fields stay as they are. A field
//! that a load cannot say is a fault with its name: nothing is ignored that would change the answer.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::dropin::item::{ConvertedItem, ItemFault};
use crate::dropin::raw_fields::read_fields;

const DECLARE_FILE: &str = "Only files are accepted. Declare it with POST /files, upload it, and use \
     {\"type\": \"file\", \"file_id\": \"file_…\"}";

/// What the request set for the whole batch.
#[derive(Debug, Default, Deserialize)]
struct BatchOptions {
    #[serde(default)]
    callback_url: Option<String>,
}

struct RequestItem {
    custom_id: String,
    params: Map<String, Value>,
}

/// Reads an item whose envelope was checked before. Its params may still be no JSON that we read,
/// such as one with too many levels.
fn read_item(item: &[u8]) -> Result<RequestItem, ItemFault> {
    let unreadable = |custom_id: String, error: &serde_json::Error| ItemFault {
        custom_id,
        model: String::new(),
        message: format!("The item cannot be read: {error}"),
    };
    let fields = read_fields(item).map_err(|error| unreadable(String::new(), &error))?;
    let text = |name: &str| fields.get(name).map_or("null", |value| value.get());
    let custom_id = serde_json::from_str::<String>(text("custom_id"));
    let custom_id = custom_id.map_err(|error| unreadable(String::new(), &error))?;
    match serde_json::from_str(text("params")) {
        Ok(params) => Ok(RequestItem { custom_id, params }),
        Err(error) => Err(unreadable(custom_id, &error)),
    }
}

pub(in crate::dropin) fn convert_item(
    options: Option<&[u8]>,
    item: &[u8],
) -> Result<ConvertedItem, ItemFault> {
    let options = options.and_then(|json| serde_json::from_slice::<BatchOptions>(json).ok());
    let RequestItem {
        custom_id,
        mut params,
    } = read_item(item)?;
    let model = params.get("model").and_then(Value::as_str);
    let model = model.unwrap_or_default().to_owned();
    match convert_params(&mut params) {
        Ok(metadata) => Ok(ConvertedItem {
            custom_id,
            params,
            metadata,
            callback_url: options.and_then(|it| it.callback_url),
            deadline_at: None,
        }),
        Err(message) => Err(ItemFault {
            custom_id,
            model,
            message,
        }),
    }
}

/// Changes the params in place, and returns the metadata of the load.
fn convert_params(params: &mut Map<String, Value>) -> Result<Option<Map<String, Value>>, String> {
    for name in ["container", "mcp_servers", "input_text"] {
        if params.get(name).is_some_and(|value| !value.is_null()) {
            return Err(format!(
                "params.{name}: this field is not supported. Leave it out."
            ));
        }
        params.remove(name);
    }
    match params.remove("stream") {
        None | Some(Value::Null | Value::Bool(false)) => {}
        Some(_) => {
            return Err(
                "params.stream: the items of a batch are not streamed. Leave it out.".into(),
            );
        }
    }
    params.remove("service_tier");
    for (index, message) in list_of(params.get_mut("messages")).enumerate() {
        convert_blocks(
            message.get_mut("content"),
            &format!("params.messages.{index}.content"),
        )?;
    }
    read_metadata(params.remove("metadata"))
}

/// `metadata.user_id` becomes metadata of the load. Anthropic has no other field there.
fn read_metadata(value: Option<Value>) -> Result<Option<Map<String, Value>>, String> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(mut fields)) => {
            fields.retain(|_, value| !value.is_null());
            if let Some(name) = fields.keys().find(|name| *name != "user_id") {
                return Err(format!(
                    "params.metadata.{name}: only user_id is supported."
                ));
            }
            Ok((!fields.is_empty()).then_some(fields))
        }
        Some(_) => Err("params.metadata: Input should be an object".into()),
    }
}

/// Images and documents, also those in results of tools.
fn convert_blocks(content: Option<&mut Value>, path: &str) -> Result<(), String> {
    for (index, block) in list_of(content).enumerate() {
        let path = format!("{path}.{index}");
        if let Some(source) = block.get_mut("source") {
            convert_source(source, &path)?;
        }
        if block.get("type").and_then(Value::as_str) == Some("tool_result") {
            convert_blocks(block.get_mut("content"), &format!("{path}.content"))?;
        }
    }
    Ok(())
}

/// `{"type": "file", "file_id": …}` becomes `{"file_id": …}`.
fn convert_source(source: &mut Value, path: &str) -> Result<(), String> {
    let Some(fields) = source.as_object_mut() else {
        return Ok(());
    };
    match fields.get("type").and_then(Value::as_str) {
        Some("file") => {
            fields.remove("type");
            Ok(())
        }
        Some(kind) => Err(format!(
            "{path}.source.type: {kind} is not supported. {DECLARE_FILE}"
        )),
        None => Ok(()),
    }
}

fn list_of(value: Option<&mut Value>) -> impl Iterator<Item = &mut Value> {
    let list = value.and_then(Value::as_array_mut);
    list.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "tests pass literals")]
    fn convert(params: Value) -> Result<ConvertedItem, ItemFault> {
        let item = json!({"custom_id": "a", "params": params}).to_string();
        convert_item(
            Some(br#"{"callback_url": "https://example.com/x"}"#),
            item.as_bytes(),
        )
    }

    fn message_of(params: Value) -> String {
        convert(params).unwrap_err().message
    }

    #[test]
    fn params_that_ours_can_say_stay_as_they_are() {
        let params = json!({
            "model": "m", "max_tokens": 5, "system": [{"type": "text", "text": "s"}],
            "messages": [{"role": "user", "content": "hi"}], "temperature": 0.5,
            "tools": [{"name": "t", "input_schema": {"type": "object"}}],
            "tool_choice": {"type": "auto"}, "thinking": {"type": "adaptive"},
            "output_config": {"effort": "low"}, "stop_sequences": ["x"],
        });
        let mut sent = params.clone();
        sent["stream"] = json!(false);
        sent["service_tier"] = json!("auto");
        sent["container"] = Value::Null;
        sent["metadata"] = json!({"user_id": "u"});
        let item = convert(sent).unwrap();
        assert_eq!(Value::Object(item.params), params);
        assert_eq!(
            item.metadata.map(Value::Object),
            Some(json!({"user_id": "u"}))
        );
        assert_eq!(item.callback_url.as_deref(), Some("https://example.com/x"));
    }

    #[test]
    fn files_are_named_by_their_id_alone() {
        let block = |source: Value| json!({"type": "image", "source": source});
        let params = |source: Value| {
            let result = json!({"type": "tool_result", "tool_use_id": "t", "content": [block(source.clone())]});
            json!({"model": "m", "messages": [{"role": "user", "content": [block(source), result]}]})
        };
        let converted = convert(params(json!({"type": "file", "file_id": "file_1"}))).unwrap();
        let expected = params(json!({"file_id": "file_1"}));
        assert_eq!(Value::Object(converted.params), expected);
        let message = message_of(params(json!({"type": "base64", "data": "eA=="})));
        assert!(message.starts_with("params.messages.0.content.0.source.type: base64"));
        assert!(message.contains("POST /files"));
    }

    #[test]
    fn the_last_of_two_fields_counts() {
        let item =
            br#"{"custom_id": "x", "custom_id": "a", "params": 1, "params": {"model": "m"}}"#;
        let converted = convert_item(None, item).unwrap();
        assert_eq!(converted.custom_id, "a");
        assert_eq!(converted.model(), "m");
        let fault = convert_item(None, br#"{"custom_id": "a", "params": 1}"#).unwrap_err();
        assert_eq!(fault.custom_id, "a");
    }

    #[test]
    fn params_that_cannot_be_read_are_the_fault_of_their_item() {
        let levels = 200;
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        for params in [
            format!("{{\"a\": {open}{close}}}"),
            r#"{"a": "\ud800"}"#.into(),
        ] {
            let item = format!("{{\"custom_id\": \"a\", \"params\": {params}}}");
            let fault = convert_item(None, item.as_bytes()).unwrap_err();
            assert_eq!(fault.custom_id, "a");
        }
    }

    #[test]
    fn what_ours_cannot_say_is_refused_by_its_name() {
        for (name, value) in [
            ("stream", json!(true)),
            ("container", json!("c")),
            ("mcp_servers", json!([])),
            ("input_text", json!("a")),
        ] {
            let mut params = json!({"model": "m", "messages": []});
            params[name] = value;
            let fault = convert(params).unwrap_err();
            assert!(
                fault.message.starts_with(&format!("params.{name}: ")),
                "{fault:?}"
            );
            assert_eq!((fault.custom_id.as_str(), fault.model.as_str()), ("a", "m"));
        }
        let tagged = json!({"model": "m", "metadata": {"team": 1}});
        assert!(message_of(tagged).starts_with("params.metadata.team: "));
    }
}
