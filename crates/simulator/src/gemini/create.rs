//! Creating a batch from requests in the call, or from a file that was uploaded.

use bytes::Bytes;
use chrono::TimeDelta;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::operation::operation;
use crate::account::{Draft, StoredFile};
use crate::call::{Answered, Call, aside, malformed};
use crate::job::{Objection, Order};
use crate::manifest::{Builder, Manifest, question};
use crate::provider::Provider;
use crate::question::Kind;
use crate::refusal::{No, Refusal};
use crate::reply;

const LARGEST_INLINE: usize = 20 * 1024 * 1024;

#[derive(Debug, Deserialize)]
struct Create<'a> {
    #[serde(borrow)]
    batch: Batch<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Batch<'a> {
    #[serde(alias = "display_name")]
    display_name: Option<String>,
    #[serde(borrow, alias = "input_config")]
    input_config: InputConfig<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct InputConfig<'a> {
    #[serde(alias = "file_name")]
    file_name: Option<String>,
    #[serde(borrow)]
    requests: Option<Requests<'a>>,
}

#[derive(Debug, Deserialize)]
struct Requests<'a> {
    #[serde(borrow)]
    requests: Vec<&'a RawValue>,
}

/// What a create call brings.
#[derive(Debug, Default)]
struct Input {
    manifest: Manifest,
    objections: Vec<Objection>,
    refusal: Option<Refusal>,
}

pub(super) async fn create(mut call: Call, model: &str, kind: Kind) -> Answered {
    let bytes = call.bytes(2 * LARGEST_INLINE).await?;
    let (label, file_name) = {
        let asked: Create<'_> =
            serde_json::from_slice(&bytes).map_err(|error| malformed(&error))?;
        (asked.batch.display_name, asked.batch.input_config.file_name)
    };
    let input = match &file_name {
        None => aside(move || inline(&bytes, kind)).await?,
        Some(name) => match file(&call, name) {
            Ok(file) => aside(move || lines(&file.bytes, kind)).await?,
            Err(refusal) => Input {
                refusal: Some(refusal),
                ..Input::default()
            },
        },
    };
    let draft = Draft {
        objections: input.objections,
        refusal: input.refusal,
        window: TimeDelta::hours(48),
        order: Order {
            kind,
            model: model.to_owned(),
            label,
            manifest: input.manifest,
            endpoint: String::new(),
            input_file: file_name,
            metadata: Value::Null,
        },
    };
    let created = call.account.lock().create(draft, call.now)?;
    let answer = operation(&created.job, call.now);
    Ok(reply::tell(created.telling, &answer).await)
}

fn inline(bytes: &Bytes, kind: Kind) -> Input {
    let mut items = Builder::default();
    let asked = serde_json::from_slice::<Create<'_>>(bytes).ok();
    let requests = asked.and_then(|asked| asked.batch.input_config.requests);
    let requests = requests.map(|it| it.requests).unwrap_or_default();
    for (index, raw) in requests.iter().enumerate() {
        let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        let key = value.pointer("/metadata/key").and_then(Value::as_str);
        let key = key.map_or_else(|| index.to_string(), str::to_owned);
        let question = question(Provider::Gemini, kind, value.get("request"));
        items.add(bytes.slice_ref(raw.get().as_bytes()), key, &question);
    }
    let refusal = if requests.is_empty() {
        Some(Refusal::new(
            400,
            "* BatchGenerateContentRequest.batch.input_config: requests is empty",
        ))
    } else if bytes.len() > LARGEST_INLINE {
        Some(Refusal::new(
            400,
            "Request payload size exceeds the limit: 20971520 bytes.",
        ))
    } else {
        None
    };
    Input {
        manifest: items.finish(),
        objections: Vec::new(),
        refusal,
    }
}

/// The input file, if it can be used.
fn file(call: &Call, name: &str) -> Result<StoredFile, Refusal> {
    let id = name.strip_prefix("files/").unwrap_or(name);
    let account = call.account.lock();
    match account.file(id, call.now) {
        Ok(file) if file.is_failed || file.ready_at > call.now => {
            let message =
                format!("The File {name} is not in an ACTIVE state and usage is not allowed.");
            Err(Refusal::new(400, message).code("FAILED_PRECONDITION"))
        }
        Ok(file) => Ok(file.clone()),
        Err(No::Refused(_) | No::Dropped) => {
            Err(Refusal::new(404, format!("File {name} not found")))
        }
    }
}

fn lines(bytes: &Bytes, kind: Kind) -> Input {
    let mut items = Builder::default();
    let mut objections = Vec::new();
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let value = match serde_json::from_slice::<Value>(line) {
            Ok(value @ Value::Object(_)) => value,
            _ if objections.is_empty() => {
                objections.push(unreadable(index));
                continue;
            }
            _ => continue,
        };
        let key = value.get("key").and_then(Value::as_str);
        let key = key.map_or_else(|| index.to_string(), str::to_owned);
        let question = question(Provider::Gemini, kind, value.get("request"));
        items.add(bytes.slice_ref(line), key, &question);
    }
    let manifest = items.finish();
    let is_empty = manifest.items.is_empty() && objections.is_empty();
    Input {
        manifest,
        objections,
        refusal: is_empty.then(|| Refusal::new(400, "The input file is empty.")),
    }
}

fn unreadable(index: usize) -> Objection {
    Objection {
        code: "INVALID_ARGUMENT".to_owned(),
        line: u64::try_from(index + 1).ok(),
        message: format!("Line {} of the input file is not valid JSON.", index + 1),
        param: None,
    }
}
