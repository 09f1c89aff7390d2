//! Creates a batch from inline requests or from an uploaded file.

use bytes::Bytes;
use chrono::TimeDelta;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::operation::operation;
use crate::account::{JobDraft, SimulatedFile};
use crate::call::{CallResult, SimulatedCall, malformed, run_blocking};
use crate::job::{JobRequest, SimulatedValidationError};
use crate::manifest::{ManifestBuilder, SimulatedManifest, parse_request};
use crate::provider::SimulatedProvider;
use crate::refusal::{CallRejection, SimulatedRefusal};
use crate::reply;
use crate::request::{RequestFormat, TaskKind};

const MAX_INLINE_BYTES: usize = 20 * 1024 * 1024;

#[derive(Debug, Deserialize)]
struct CreateBatchRequest<'a> {
    #[serde(borrow)]
    batch: BatchBody<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct BatchBody<'a> {
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
    requests: Option<InlineRequests<'a>>,
}

#[derive(Debug, Deserialize)]
struct InlineRequests<'a> {
    #[serde(borrow)]
    requests: Vec<&'a RawValue>,
}

/// The parsed input of a create call.
#[derive(Debug, Default)]
struct CreateInput {
    manifest: SimulatedManifest,
    validation_errors: Vec<SimulatedValidationError>,
    refusal: Option<SimulatedRefusal>,
}

pub(super) async fn create(mut call: SimulatedCall, model: &str, kind: TaskKind) -> CallResult {
    let bytes = call.bytes(2 * MAX_INLINE_BYTES).await?;
    let (label, file_name) = {
        let request: CreateBatchRequest<'_> =
            serde_json::from_slice(&bytes).map_err(|error| malformed(&error))?;
        (
            request.batch.display_name,
            request.batch.input_config.file_name,
        )
    };
    let input = match &file_name {
        None => {
            let model = model.to_owned();
            run_blocking(move || read_inline(&bytes, format(kind, &model))).await?
        }
        Some(name) => match find_input_file(&call, name) {
            Ok(file) => {
                let model = model.to_owned();
                run_blocking(move || read_file(&file.bytes, format(kind, &model))).await?
            }
            Err(refusal) => CreateInput {
                refusal: Some(refusal),
                ..CreateInput::default()
            },
        },
    };
    let draft = JobDraft {
        validation_errors: input.validation_errors,
        refusal: input.refusal,
        window: TimeDelta::hours(48),
        request: JobRequest {
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
    Ok(reply::reply_to_create(created.reply, &answer).await)
}

const fn format(kind: TaskKind, model: &str) -> RequestFormat<'_> {
    RequestFormat {
        provider: SimulatedProvider::Gemini,
        kind,
        model,
    }
}

fn read_inline(bytes: &Bytes, format: RequestFormat<'_>) -> CreateInput {
    let mut items = ManifestBuilder::default();
    let request = serde_json::from_slice::<CreateBatchRequest<'_>>(bytes).ok();
    let requests = request.and_then(|request| request.batch.input_config.requests);
    let requests = requests.map(|it| it.requests).unwrap_or_default();
    for (index, raw) in requests.iter().enumerate() {
        let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        let key = value.pointer("/metadata/key").and_then(Value::as_str);
        let key = key.map_or_else(|| index.to_string(), str::to_owned);
        let question = parse_request(format, value.get("request"));
        items.add(bytes.slice_ref(raw.get().as_bytes()), key, &question);
    }
    let refusal = if requests.is_empty() {
        Some(SimulatedRefusal::new(
            400,
            "* BatchGenerateContentRequest.batch.input_config: requests is empty",
        ))
    } else if bytes.len() > MAX_INLINE_BYTES {
        Some(SimulatedRefusal::new(
            400,
            "Request payload size exceeds the limit: 20971520 bytes.",
        ))
    } else {
        None
    };
    CreateInput {
        manifest: items.finish(),
        validation_errors: Vec::new(),
        refusal,
    }
}

/// The input file, if it is ACTIVE.
fn find_input_file(call: &SimulatedCall, name: &str) -> Result<SimulatedFile, SimulatedRefusal> {
    let id = name.strip_prefix("files/").unwrap_or(name);
    let account = call.account.lock();
    match account.file(id, call.now) {
        Ok(file) if file.is_failed || file.ready_at > call.now => {
            let message =
                format!("The File {name} is not in an ACTIVE state and usage is not allowed.");
            Err(SimulatedRefusal::new(400, message).code("FAILED_PRECONDITION"))
        }
        Ok(file) => Ok(file.clone()),
        Err(CallRejection::Refused(_) | CallRejection::Dropped) => {
            Err(SimulatedRefusal::new(404, format!("File {name} not found")))
        }
    }
}

fn read_file(bytes: &Bytes, format: RequestFormat<'_>) -> CreateInput {
    let mut items = ManifestBuilder::default();
    let mut objections = Vec::new();
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let value = match serde_json::from_slice::<Value>(line) {
            Ok(value @ Value::Object(_)) => value,
            _ if objections.is_empty() => {
                objections.push(invalid_line(index));
                continue;
            }
            _ => continue,
        };
        let key = value.get("key").and_then(Value::as_str);
        let key = key.map_or_else(|| index.to_string(), str::to_owned);
        let question = parse_request(format, value.get("request"));
        items.add(bytes.slice_ref(line), key, &question);
    }
    let manifest = items.finish();
    let is_empty = manifest.items.is_empty() && objections.is_empty();
    CreateInput {
        manifest,
        validation_errors: objections,
        refusal: is_empty.then(|| SimulatedRefusal::new(400, "The input file is empty.")),
    }
}

fn invalid_line(index: usize) -> SimulatedValidationError {
    SimulatedValidationError {
        code: "INVALID_ARGUMENT".to_owned(),
        line: u64::try_from(index + 1).ok(),
        message: format!("Line {} of the input file is not valid JSON.", index + 1),
        param: None,
    }
}
