//! Lines: one request of a job, and one result.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::provider::Item;
use crate::provider::completions::{self, Dialect};
use crate::provider::ending::ItemEnd;
use crate::provider::jobs::Unreadable;
use crate::provider::key::ItemKey;
use crate::provider::media::MediaSource;
use crate::provider::media::Unfit;
use crate::provider::no::No;

pub(super) fn encode(
    item: &Item,
    upstream: &str,
    media: &dyn MediaSource,
) -> Result<Vec<u8>, Unfit> {
    let body = completions::body(&item.params, upstream, media, Dialect::OpenAi)?;
    let line = json!({
        "custom_id": item.key(),
        "method": "POST",
        "url": format!("/v1{}", completions::path(item.params.kind())),
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

pub(super) fn decode(line: &[u8], model: &str) -> Result<(ItemKey, ItemEnd), Unreadable> {
    let line: Line<'_> = serde_json::from_slice(line).map_err(|_| Unreadable)?;
    let key: ItemKey = line.custom_id.parse().map_err(|_| Unreadable)?;
    let end = match (line.response, line.error) {
        (Some(answer), _) if answer.status_code == 200 => {
            completions::read(answer.body.get(), key, model)
        }
        // The error stands inside the answer, where one was given,
        (Some(answer), _) => {
            let no = No::read(answer.body.get().as_bytes());
            ItemEnd::refused(answer.status_code, &no)
        }
        // and by itself when the request never ran: `batch_expired`, `batch_cancelled`.
        (None, Some(error)) => {
            let code = No::of(&error).code;
            ItemEnd::Again(if code.is_empty() {
                "not run".to_owned()
            } else {
                code
            })
        }
        (None, None) => ItemEnd::again("not run"),
    };
    Ok((key, end))
}
