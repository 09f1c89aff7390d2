//! Requests and responses of the `OpenAI` API, which other services and self-hosted servers
//! implement too: Chat Completions, Responses and embeddings.

mod chat_answer;
mod chat_messages;
mod chat_request;
mod dialect;
mod embedding;
mod request_context;
mod responses_answer;
mod responses_input;
mod responses_request;
mod served_tier;
mod tool_results;

#[cfg(test)]
mod tests;

use domain::file::MediaType;
use domain::model::ModelKind;
use domain::params::Params;
use domain::route::{ChatApi, Route};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::BatchItem;
use super::item_key::ItemKey;
use super::item_result::ItemResult;
use super::media::{MediaForm, MediaSource, UnsupportedItem};
use chat_answer::ChatChoice;
pub use dialect::ServerDialect;
use embedding::EmbeddingVector;
use request_context::RequestContext;
use responses_answer::ResponsesAnswer;

/// The path below the version.
pub(super) const fn endpoint_path(kind: ModelKind, api: ChatApi) -> &'static str {
    match (kind, api) {
        (ModelKind::Chat, ChatApi::Completions) => "/chat/completions",
        (ModelKind::Chat, ChatApi::Responses) => "/responses",
        (ModelKind::Embedding, ChatApi::Completions | ChatApi::Responses) => "/embeddings",
    }
}

/// How a server accepts a file of this type.
pub(super) fn media_form(media_type: MediaType, dialect: ServerDialect) -> MediaForm {
    if media_type == MediaType::Pdf && !dialect.is_self_hosted() {
        MediaForm::Bytes
    } else {
        MediaForm::Url.or_text(media_type)
    }
}

pub(super) fn request_body(
    item: &BatchItem,
    route: &Route,
    media: &dyn MediaSource,
    dialect: ServerDialect,
) -> Result<Map<String, Value>, UnsupportedItem> {
    let context = RequestContext {
        route,
        dialect,
        media,
        organization: item.organization,
    };
    match (&item.params, route.api) {
        (Params::Chat(chat), ChatApi::Completions) => chat_request::body(chat, &context),
        (Params::Chat(chat), ChatApi::Responses) => responses_request::body(chat, &context),
        (Params::Embedding(embedding), ChatApi::Completions | ChatApi::Responses) => {
            Ok(embedding::body(embedding, &route.upstream_model))
        }
    }
}

/// A success response of any of the three endpoints: a result line does not say which one it is
/// from.
#[derive(Debug, Deserialize)]
struct SuccessResponse {
    /// Present for Chat Completions.
    #[serde(default)]
    choices: Option<Vec<ChatChoice>>,
    /// Present for embeddings.
    #[serde(default)]
    data: Option<Vec<EmbeddingVector>>,
    /// Present for Responses.
    #[serde(default)]
    status: Value,
    #[serde(default)]
    output: Value,
    #[serde(default)]
    error: Value,
    #[serde(default)]
    incomplete_details: Value,
    /// Untyped: invalid usage must not make the whole response unreadable.
    #[serde(default)]
    usage: Value,
    #[serde(default)]
    service_tier: Value,
}

/// Parses the body of a success response. An unreadable body leads to a retry.
pub(super) fn parse_response(body: &str, key: ItemKey) -> ItemResult {
    let Ok(response) = serde_json::from_str::<SuccessResponse>(body) else {
        return unreadable_response();
    };
    if let Some(vectors) = response.data {
        return embedding::into_result(vectors, &response.usage);
    }
    let tier = served_tier::parse(&response.service_tier);
    if let Some(choices) = response.choices {
        let choice = choices.into_iter().next();
        return choice.map_or_else(unreadable_response, |choice| {
            choice.into_result(key, &response.usage, tier)
        });
    }
    let Some(status) = response.status.as_str() else {
        return unreadable_response();
    };
    let output = response.output.as_array();
    let answer = ResponsesAnswer {
        status,
        output: output.map(Vec::as_slice).unwrap_or_default(),
        error: &response.error,
        incomplete_details: &response.incomplete_details,
        usage: &response.usage,
    };
    answer.into_result(key, tier)
}

pub(super) fn unreadable_response() -> ItemResult {
    ItemResult::retry("the response cannot be parsed")
}
