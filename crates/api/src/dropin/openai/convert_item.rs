//! A line of a batch as a load, or a fault that becomes the line's result.

use serde_json::Value;

use crate::dropin::item::{ConvertedItem, ItemFault};
use crate::dropin::openai::endpoint::Endpoint;
use crate::dropin::openai::envelope::{RequestLine, read_custom_id, read_line};
use crate::dropin::openai::options::BatchOptions;
use crate::dropin::openai::request::convert_request;

/// Converts a line. Its envelope was checked when the batch was created.
pub(crate) fn convert_item(
    options: Option<&[u8]>,
    item: &[u8],
) -> Result<ConvertedItem, ItemFault> {
    let (Some(options), Some(line)) = (BatchOptions::read(options), read_line(item)) else {
        return Err(ItemFault {
            custom_id: read_custom_id(item).unwrap_or_default(),
            model: String::new(),
            message: "The line cannot be read any more. Send it in a new batch.".to_owned(),
        });
    };
    convert_line(&options, line)
}

pub(crate) fn convert_line(
    options: &BatchOptions,
    line: RequestLine,
) -> Result<ConvertedItem, ItemFault> {
    let endpoint = options.endpoint().unwrap_or(Endpoint::ChatCompletions);
    let model = line.body.get("model").and_then(Value::as_str);
    let model = model.unwrap_or_default().to_owned();
    let custom_id = line.custom_id;
    match convert_request(endpoint, line.body, &options.defaults) {
        Ok(request) => Ok(ConvertedItem {
            custom_id,
            params: request.params,
            metadata: request.metadata,
            callback_url: options.callback_url.clone(),
            deadline_at: options.deadline_at.clone(),
        }),
        Err(fault) => Err(ItemFault {
            custom_id,
            model,
            message: fault.message,
        }),
    }
}
