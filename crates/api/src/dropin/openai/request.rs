//! Requests of `OpenAI`'s APIs as `params`. What `params` cannot say is refused by its name.

mod chat;
mod chat_messages;
mod conversation;
mod defaults;
mod embedding;
mod fault;
mod fields;
mod options;
mod parts;
mod responses;
mod responses_input;
#[cfg(test)]
mod tests;
mod tools;

use serde_json::{Map, Value};

pub(crate) use defaults::{ConversionDefaults, ConvertedRequest, referenced_files};
pub(crate) use fault::RequestFault;
pub(crate) use responses_input::REDACTED_PREFIX;

use crate::dropin::openai::endpoint::Endpoint;

pub(crate) fn convert_request(
    endpoint: Endpoint,
    body: Map<String, Value>,
    defaults: &ConversionDefaults,
) -> Result<ConvertedRequest, RequestFault> {
    match endpoint {
        Endpoint::ChatCompletions => chat::convert(body, defaults),
        Endpoint::Embeddings => embedding::convert(body),
        Endpoint::Responses => responses::convert(body, defaults),
    }
}
