//! The content of a message: a text, or parts of text and files.

use serde_json::{Value, json};

use super::conversation::TurnContent;
use super::defaults::ConversionDefaults;
use super::fault::RequestFault;
use super::fields::Fields;

/// A file of the project, in a field that takes a URL.
const FILE_URL_PREFIX: &str = "longshore://";
const FILE_ADVICE: &str = "Bytes and addresses of files are not accepted in a request. Upload the \
                           file with POST /files, and write longshore://file_… for an image, or \
                           its file_id.";

pub(super) fn content(
    value: Value,
    place: &str,
    defaults: &ConversionDefaults,
) -> Result<TurnContent, RequestFault> {
    match value {
        Value::String(text) => Ok(TurnContent::Text(text)),
        Value::Array(parts) => {
            let blocks = parts.into_iter().enumerate();
            let blocks =
                blocks.map(|(index, value)| part(value, format!("{place}[{index}]"), defaults));
            Ok(TurnContent::Blocks(blocks.collect::<Result<_, _>>()?))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            let expected = "a string or an array of parts";
            Err(RequestFault::wrong_type(place, expected))
        }
    }
}

/// The text of instructions, which have no other parts.
pub(super) fn text_content(value: Value, place: &str) -> Result<String, RequestFault> {
    match value {
        Value::String(text) => Ok(text),
        Value::Array(parts) => {
            let texts = parts.into_iter().enumerate().map(|(index, value)| {
                let mut fields = Fields::of(value, format!("{place}[{index}]"))?;
                let kind = fields.required_text("type")?;
                if !matches!(kind.as_str(), "text" | "input_text") {
                    let advice = "Instructions are text.";
                    let path = fields.path("type");
                    return Err(RequestFault::unsupported_value(&path, advice));
                }
                let text = fields.required_text("text")?;
                fields.finish()?;
                Ok(text)
            });
            Ok(texts.collect::<Result<Vec<String>, _>>()?.join("\n\n"))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            let expected = "a string or an array of text parts";
            Err(RequestFault::wrong_type(place, expected))
        }
    }
}

fn part(value: Value, place: String, defaults: &ConversionDefaults) -> Result<Value, RequestFault> {
    let mut fields = Fields::of(value, place)?;
    let kind = fields.required_text("type")?;
    let cache_control = cache_mark(&mut fields)?;
    let mut block = match kind.as_str() {
        "text" | "input_text" => json!({"type": "text", "text": fields.required_text("text")?}),
        "output_text" => {
            fields.accept(&["annotations", "logprobs"]);
            json!({"type": "text", "text": fields.required_text("text")?})
        }
        "refusal" => json!({"type": "text", "text": fields.required_text("refusal")?}),
        "image_url" => image_url(&mut fields)?,
        "input_image" => input_image(&mut fields)?,
        "file" => {
            let inner = fields.object("file")?;
            let path = fields.path("file");
            let mut inner = inner.ok_or_else(|| RequestFault::missing(&path))?;
            let block = file_block(&mut inner, defaults)?;
            inner.finish()?;
            block
        }
        "input_file" => file_block(&mut fields, defaults)?,
        _ => {
            let advice = "Parts are text, images and files.";
            let path = fields.path("type");
            return Err(RequestFault::unsupported_value(&path, advice));
        }
    };
    fields.finish()?;
    if let (Some(mark), Some(block)) = (cache_control, block.as_object_mut()) {
        block.insert("cache_control".to_owned(), mark);
    }
    Ok(block)
}

/// A breakpoint of the prompt cache, which is a mark of ours.
fn cache_mark(fields: &mut Fields) -> Result<Option<Value>, RequestFault> {
    let Some(mut mark) = fields.object("prompt_cache_breakpoint")? else {
        return Ok(None);
    };
    mark.accept_only("mode", &[json!("explicit")], "Use explicit.")?;
    mark.finish()?;
    Ok(Some(json!({"type": "ephemeral"})))
}

fn image_url(fields: &mut Fields) -> Result<Value, RequestFault> {
    let path = fields.path("image_url");
    let image = fields.object("image_url")?;
    let mut image = image.ok_or_else(|| RequestFault::missing(&path))?;
    let url_path = image.path("url");
    let url = image.required_text("url")?;
    accept_detail(&mut image)?;
    image.finish()?;
    image_block(&url, &url_path)
}

fn input_image(fields: &mut Fields) -> Result<Value, RequestFault> {
    accept_detail(fields)?;
    if let Some(file) = fields.text("file_id")? {
        return Ok(json!({"type": "image", "source": {"file_id": file}}));
    }
    let path = fields.path("image_url");
    let url = fields.required_text("image_url")?;
    image_block(&url, &path)
}

fn image_block(url: &str, path: &str) -> Result<Value, RequestFault> {
    let file = url.strip_prefix(FILE_URL_PREFIX);
    let file = file.ok_or_else(|| RequestFault::unsupported_value(path, FILE_ADVICE))?;
    Ok(json!({"type": "image", "source": {"file_id": file}}))
}

fn accept_detail(fields: &mut Fields) -> Result<(), RequestFault> {
    let advice = "Leave it out: the model chooses the resolution.";
    fields.accept_only("detail", &[json!("auto")], advice)
}

fn file_block(fields: &mut Fields, defaults: &ConversionDefaults) -> Result<Value, RequestFault> {
    fields.refuse(&["file_data", "file_url"], FILE_ADVICE)?;
    fields.accept(&["filename"]);
    let file = fields.required_text("file_id")?;
    let kind = defaults.block_type(&file);
    Ok(json!({"type": kind, "source": {"file_id": file}}))
}
