//! Creating a batch: the envelope is judged at once, what is inside only when it runs.

use bytes::Bytes;
use chrono::TimeDelta;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::batches::object;
use crate::account::Draft;
use crate::call::{Answered, Call, aside};
use crate::job::Order;
use crate::manifest::{Builder, Manifest, question};
use crate::provider::Provider;
use crate::question::Kind;
use crate::refusal::Refusal;
use crate::reply;

const LARGEST: usize = 256 * 1024 * 1024;
const MOST: usize = 100_000;
const LONGEST_ID: usize = 64;

#[derive(Debug, Deserialize)]
struct Create<'a> {
    #[serde(borrow)]
    requests: Vec<&'a RawValue>,
}

pub(super) async fn create(mut call: Call) -> Answered {
    let bytes = call.bytes(LARGEST).await?;
    let (manifest, refusal) = aside(move || read(&bytes)).await?;
    let model = manifest.items.first().map(|item| model(&item.raw));
    let draft = Draft {
        objections: Vec::new(),
        refusal,
        window: TimeDelta::hours(24),
        order: Order {
            kind: Kind::Chat,
            model: model.unwrap_or_default(),
            label: None,
            manifest,
            endpoint: "/v1/messages".to_owned(),
            input_file: None,
            metadata: Value::Null,
        },
    };
    let created = call.account.lock().create(draft, call.now)?;
    let answer = object(&created.job, call.now, &call.origin);
    Ok(reply::tell(created.telling, &answer).await)
}

fn read(bytes: &Bytes) -> (Manifest, Option<Refusal>) {
    let requests = match serde_json::from_slice::<Create<'_>>(bytes) {
        Ok(create) => create.requests,
        Err(error) => {
            return (
                Manifest::default(),
                Some(Refusal::new(400, error.to_string())),
            );
        }
    };
    let mut items = Builder::default();
    let mut refusal = None;
    for (index, raw) in requests.iter().enumerate() {
        let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        let id = value.get("custom_id").and_then(Value::as_str);
        let at = |what: &str| Refusal::new(400, format!("requests.{index}.custom_id: {what}"));
        let fault = match id {
            None => Some(at("Field required")),
            Some(id) if id.chars().count() > LONGEST_ID => {
                Some(at("String should have at most 64 characters"))
            }
            Some(id) if !is_plain(id) => {
                Some(at("String should match pattern '^[a-zA-Z0-9_-]{1,64}$'"))
            }
            Some(_) => None,
        };
        let params = value.get("params");
        let question = question(Provider::Anthropic, Kind::Chat, params);
        let raw = bytes.slice_ref(raw.get().as_bytes());
        let is_new = items.add(raw, id.unwrap_or_default().to_owned(), &question);
        let repeated = (!is_new).then(|| at("custom_id must be unique"));
        let empty = params
            .is_none()
            .then(|| Refusal::new(400, format!("requests.{index}.params: Field required")));
        refusal = refusal.or(fault).or(repeated).or(empty);
    }
    let refusal = match requests.len() {
        0 => Some(Refusal::new(
            400,
            "requests: List should have at least 1 item after validation, not 0",
        )),
        many if many > MOST => Some(Refusal::new(
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
