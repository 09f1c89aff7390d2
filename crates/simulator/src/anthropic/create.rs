//! Creates a batch. The envelope is validated at once, `params` only when the item runs.

use bytes::Bytes;
use chrono::TimeDelta;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::FORMAT;
use super::batches::batch_object;
use crate::account::JobDraft;
use crate::call::{CallResult, SimulatedCall, run_blocking};
use crate::job::JobRequest;
use crate::manifest::{ManifestBuilder, SimulatedManifest, parse_request};
use crate::refusal::SimulatedRefusal;
use crate::reply;
use crate::request::TaskKind;

const MAX_BODY_BYTES: usize = 256 * 1024 * 1024;
const MAX_REQUESTS: usize = 100_000;
const MAX_CUSTOM_ID_CHARS: usize = 64;

#[derive(Debug, Deserialize)]
struct CreateBatchRequest<'a> {
    #[serde(borrow)]
    requests: Vec<&'a RawValue>,
}

pub(super) async fn create(mut call: SimulatedCall) -> CallResult {
    let bytes = call.bytes(MAX_BODY_BYTES).await?;
    let (manifest, refusal) = run_blocking(move || read_requests(&bytes)).await?;
    let model = manifest.items.first().map(|item| model(&item.raw));
    let draft = JobDraft {
        validation_errors: Vec::new(),
        refusal,
        window: TimeDelta::hours(24),
        request: JobRequest {
            kind: TaskKind::Chat,
            model: model.unwrap_or_default(),
            label: None,
            manifest,
            endpoint: "/v1/messages".to_owned(),
            input_file: None,
            metadata: Value::Null,
        },
    };
    let created = call.account.lock().create(draft, call.now)?;
    let answer = batch_object(&created.job, call.now, &call.origin);
    Ok(reply::reply_to_create(created.reply, &answer).await)
}

fn read_requests(bytes: &Bytes) -> (SimulatedManifest, Option<SimulatedRefusal>) {
    let requests = match serde_json::from_slice::<CreateBatchRequest<'_>>(bytes) {
        Ok(create) => create.requests,
        Err(error) => {
            return (
                SimulatedManifest::default(),
                Some(SimulatedRefusal::new(400, error.to_string())),
            );
        }
    };
    let mut items = ManifestBuilder::default();
    let mut refusal = None;
    for (index, raw) in requests.iter().enumerate() {
        let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        let id = value.get("custom_id").and_then(Value::as_str);
        let at =
            |what: &str| SimulatedRefusal::new(400, format!("requests.{index}.custom_id: {what}"));
        let fault = match id {
            None => Some(at("Field required")),
            Some(id) if id.chars().count() > MAX_CUSTOM_ID_CHARS => {
                Some(at("String should have at most 64 characters"))
            }
            Some(id) if !is_plain(id) => {
                Some(at("String should match pattern '^[a-zA-Z0-9_-]{1,64}$'"))
            }
            Some(_) => None,
        };
        let params = value.get("params");
        let question = parse_request(FORMAT, params);
        let raw = bytes.slice_ref(raw.get().as_bytes());
        let is_new = items.add(raw, id.unwrap_or_default().to_owned(), &question);
        let repeated = (!is_new).then(|| at("custom_id must be unique"));
        let empty = params.is_none().then(|| {
            SimulatedRefusal::new(400, format!("requests.{index}.params: Field required"))
        });
        refusal = refusal.or(fault).or(repeated).or(empty);
    }
    let refusal = match requests.len() {
        0 => Some(SimulatedRefusal::new(
            400,
            "requests: List should have at least 1 item after validation, not 0",
        )),
        many if many > MAX_REQUESTS => Some(SimulatedRefusal::new(
            400,
            "requests: List should have at most 100000 items after validation",
        )),
        _ => refusal,
    };
    (items.finish(), refusal)
}

fn is_plain(id: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    !id.is_empty() && id.chars().all(is_plain)
}

fn model(raw: &Bytes) -> String {
    let value: Value = serde_json::from_slice(raw).unwrap_or_default();
    let model = value.pointer("/params/model").and_then(Value::as_str);
    model.unwrap_or_default().to_owned()
}
