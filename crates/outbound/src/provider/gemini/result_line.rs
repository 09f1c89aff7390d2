//! Decodes one result of a batch, from a file or from the job.

use serde::Deserialize;
use serde_json::Value;

use super::response;
use crate::provider::batch_provider::UnknownResultLine;
use crate::provider::item_key::ItemKey;
use crate::provider::item_result::ItemResult;
use crate::provider::provider_error::{ProviderError, http_status_of_code};

#[derive(Debug, Deserialize)]
struct Line {
    #[serde(default)]
    key: Option<String>,
    /// Holds the key of a result inside the job.
    #[serde(default)]
    metadata: Option<Metadata>,
    #[serde(default)]
    response: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
    /// An alternative to `error`.
    #[serde(default)]
    status: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    #[serde(default)]
    key: Option<String>,
}

pub(super) fn decode(line: &[u8]) -> Result<(ItemKey, ItemResult), UnknownResultLine> {
    let line: Line = serde_json::from_slice(line).map_err(|_| UnknownResultLine)?;
    let key = line.key.or_else(|| line.metadata?.key);
    let key = key
        .and_then(|key| key.parse().ok())
        .ok_or(UnknownResultLine)?;
    let mut end = match (line.response, line.error.or(line.status)) {
        (Some(response), _) => response::parse(response, key),
        (None, Some(error)) => {
            let error = ProviderError::from_json(&error);
            ItemResult::from_provider_error(
                error.numeric_code.map_or(500, http_status_of_code),
                &error,
            )
        }
        (None, None) => ItemResult::retry("the provider did not run the request"),
    };
    // The whole job has the batch price, whatever its lines say.
    end.set_tier(None);
    Ok((key, end))
}
