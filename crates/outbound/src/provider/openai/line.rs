//! JSONL lines of the batch API: one request, or one result.

use domain::route::Route;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::service::OpenAiService;
use crate::provider::BatchItem;
use crate::provider::batch_provider::UnknownResultLine;
use crate::provider::item_key::ItemKey;
use crate::provider::item_result::ItemResult;
use crate::provider::media::MediaSource;
use crate::provider::media::UnsupportedItem;
use crate::provider::openai_compatible;
use crate::provider::provider_error::ProviderError;

pub(super) fn encode(
    item: &BatchItem,
    route: &Route,
    media: &dyn MediaSource,
    service: &OpenAiService,
) -> Result<Vec<u8>, UnsupportedItem> {
    let body = openai_compatible::request_body(item, route, media, service.dialect)?;
    let path = openai_compatible::endpoint_path(item.params.kind(), route.api);
    let line = json!({
        "custom_id": item.key(),
        "method": "POST",
        "url": format!("{}{path}", service.url_prefix),
        "body": body,
    });
    Ok(format!("{line}\n").into_bytes())
}

#[derive(Debug, Deserialize)]
struct Line<'a> {
    custom_id: String,
    #[serde(borrow, default)]
    response: Option<Response<'a>>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Response<'a> {
    status_code: u16,
    #[serde(borrow)]
    body: &'a RawValue,
}

pub(super) fn decode(line: &[u8]) -> Result<(ItemKey, ItemResult), UnknownResultLine> {
    let line: Line<'_> = serde_json::from_slice(line).map_err(|_| UnknownResultLine)?;
    let key: ItemKey = line.custom_id.parse().map_err(|_| UnknownResultLine)?;
    let mut end = match (line.response, line.error) {
        (Some(answer), _) if answer.status_code == 200 => {
            openai_compatible::parse_response(answer.body.get(), key)
        }
        // If the request ran, the error is inside the response.
        (Some(answer), _) => {
            let error = ProviderError::parse(answer.body.get().as_bytes());
            ItemResult::from_provider_error(answer.status_code, &error)
        }
        // If it never ran, there is only an error: `batch_expired`, `batch_cancelled`.
        (None, Some(error)) => {
            let code = ProviderError::from_json(&error).code;
            ItemResult::retry(if code.is_empty() {
                "the provider did not run the request".to_owned()
            } else {
                code
            })
        }
        (None, None) => ItemResult::retry("the provider did not run the request"),
    };
    // The whole job has the batch price, whatever its lines say.
    end.set_tier(None);
    Ok((key, end))
}
