//! Items, files and results for the tests of all providers.

use bytes::Bytes;
use chrono::DateTime;
use domain::file::MediaType;
use domain::id::{Berth, CargoId, OrganizationId};
use domain::model_answer::ModelAnswer;
use domain::outcome::{Completion, CompletionBlock, Outcome};
use domain::reason_code::CargoFailure;
use domain::response_shape::ResponseShape;
use domain::route::{InferenceMode, Route};
use domain::token_buckets::TokenBuckets;
use serde_json::{Value, json};

use super::BatchItem;
use super::item_key::ItemKey;
use super::item_result::ItemResult;
use super::media::MediaSource;

pub(super) fn key() -> ItemKey {
    let at = DateTime::from_timestamp(1_767_225_600, 0).unwrap();
    ItemKey {
        cargo: CargoId::new(at, Berth::new(7).unwrap(), 1),
        attempt: 2,
    }
}

/// A route for plain text.
pub(super) fn route() -> Route {
    Route::plain("account", "theirs", InferenceMode::Batch)
}

pub(super) fn item(params: Value) -> BatchItem {
    BatchItem {
        cargo: key().cargo,
        attempt: key().attempt,
        loaded_at: DateTime::default(),
        organization: OrganizationId::from_uuid(key().cargo.uuid()),
        params: serde_json::from_value(params).unwrap(),
    }
}

/// A chat that sets every parameter.
pub(super) fn full_chat() -> BatchItem {
    item(json!({
        "model": "ours", "max_tokens": 50, "system": "Be brief.",
        "messages": [
            {"role": "user", "content": "Hi\n\u{0}\"é\""},
            {"role": "assistant", "content": "Yes?"},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        ],
        "temperature": 0.7, "top_p": 0.9, "top_k": 40, "stop_sequences": ["END", "\n"],
    }))
}

pub(super) fn chat_with_role(role: &str) -> BatchItem {
    item(json!({
        "model": "ours", "max_tokens": 5, "messages": [{"role": role, "content": "Hi"}],
    }))
}

/// A chat with one file: `image`, `pdf`, `csv`, `video`, `unlinked` or `gone`.
pub(super) fn chat_with_file(kind: &str, file: &str) -> BatchItem {
    item(json!({
        "model": "ours", "max_tokens": 5,
        "messages": [{"role": "user", "content": [{"type": kind, "source": {"file_id": file}}]}],
    }))
}

pub(super) fn embedding(input: &Value) -> BatchItem {
    item(json!({"model": "ours", "input_text": input}))
}

#[derive(Debug)]
pub(super) struct FixtureMedia;

impl MediaSource for FixtureMedia {
    fn media_type(&self, file: &str) -> Option<MediaType> {
        match file {
            "image" | "unlinked" => Some(MediaType::Png),
            "pdf" => Some(MediaType::Pdf),
            "csv" => Some(MediaType::Csv),
            "video" => Some(MediaType::Mp4),
            _ => None,
        }
    }

    fn url(&self, file: &str) -> Option<String> {
        (file != "unlinked").then(|| format!("https://files.example/{file}?signature=1"))
    }

    fn text(&self, _: &str) -> Option<String> {
        Some("a,b\n1,2".to_owned())
    }

    fn bytes(&self, file: &str) -> Option<Bytes> {
        Some(file.to_owned().into())
    }
}

/// One line per result, for snapshots. A chat is described as a plain request gets it.
pub(super) fn describe(end: &ItemResult) -> String {
    match end {
        ItemResult::Retry { why, billed } => {
            format!("retry: {why}{}", described_bill(billed.tokens))
        }
        ItemResult::AccountFault(why) => format!("account: {why}"),
        ItemResult::Failure { failure, billed } => {
            format!(
                "{}{}",
                described_failure(failure),
                described_bill(billed.tokens)
            )
        }
        ItemResult::Embeddings { vectors, usage } => {
            format!("{vectors:?}, {}", described_usage(*usage))
        }
        ItemResult::Answer(answer) => describe_answer(answer),
    }
}

fn describe_answer(answer: &ModelAnswer) -> String {
    match outcome(answer.clone(), ResponseShape::default()) {
        Outcome::Failure(failure) => described_failure(&failure),
        Outcome::Success(Completion::Chat(chat)) => {
            let texts = chat.content.iter().filter_map(CompletionBlock::text);
            let texts: String = texts.collect();
            let usage = described_usage(answer.usage);
            format!("{texts:?}, {:?}, {usage}", chat.stop_reason)
        }
        Outcome::Success(Completion::Embedding(_)) => unreachable!("{answer:?}"),
    }
}

fn outcome(answer: ModelAnswer, shape: ResponseShape) -> Outcome {
    let judged = answer.into_outcome(key().cargo, "ours", shape, &[]);
    judged.outcome
}

fn described_failure(failure: &CargoFailure) -> String {
    format!("failed: {}: {}", failure.code.as_str(), failure.message)
}

fn described_usage(usage: Option<TokenBuckets>) -> String {
    usage.map_or_else(
        || "usage unknown".to_owned(),
        |usage| format!("{} in, {} out", usage.input_total(), usage.output),
    )
}

fn described_bill(billed: TokenBuckets) -> String {
    if billed == TokenBuckets::default() {
        return String::new();
    }
    format!(", billed {}", described_usage(Some(billed)))
}

/// The completion as JSON, as the caller of a plain chat receives it.
pub(super) fn completion_json(end: ItemResult) -> String {
    completion_of_shape(end, ResponseShape::default())
}

/// The completion as JSON, as the caller of a chat with tools and thinking receives it.
pub(super) fn extended_json(end: ItemResult) -> String {
    let shape = ResponseShape {
        is_extended: true,
        with_thinking: true,
        ..ResponseShape::default()
    };
    completion_of_shape(end, shape)
}

fn completion_of_shape(end: ItemResult, shape: ResponseShape) -> String {
    let ItemResult::Answer(answer) = end else {
        unreachable!("{end:?}")
    };
    match outcome(answer, shape) {
        Outcome::Success(completion) => serde_json::to_string(&completion).unwrap(),
        Outcome::Failure(failure) => described_failure(&failure),
    }
}

/// The encoded line without its line ending.
pub(super) fn line_text(encoded: Vec<u8>) -> String {
    let mut line = String::from_utf8(encoded).unwrap();
    assert_eq!(line.pop(), Some('\n'));
    assert!(!line.contains(['\n', '\r']));
    line
}
