//! Encodes one request of a batch. The model is in the job's URL, not in the request.

use domain::route::Route;
use serde_json::json;

use super::request_body;
use crate::provider::BatchItem;
use crate::provider::media::{MediaSource, UnsupportedItem};

pub(super) fn encode(
    item: &BatchItem,
    route: &Route,
    media: &dyn MediaSource,
) -> Result<Vec<u8>, UnsupportedItem> {
    let request = request_body::encode(&item.params, route, media)?;
    let line = json!({"key": item.key(), "request": request});
    Ok(format!("{line}\n").into_bytes())
}
