//! Items, files and results for the tests of all providers.

use bytes::Bytes;
use chrono::DateTime;
use domain::file::MediaType;
use domain::id::{Berth, CargoId};
use domain::outcome::{Completion, Outcome};
use domain::reason_code::CargoFailure;
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

pub(super) fn item(params: Value) -> BatchItem {
    BatchItem {
        cargo: key().cargo,
        attempt: key().attempt,
        loaded_at: DateTime::default(),
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

/// A chat with one file: `image`, `pdf`, `csv`, `video` or `gone`.
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
            "image" => Some(MediaType::Png),
            "pdf" => Some(MediaType::Pdf),
            "csv" => Some(MediaType::Csv),
            "video" => Some(MediaType::Mp4),
            _ => None,
        }
    }

    fn url(&self, file: &str) -> Option<String> {
        Some(format!("https://files.example/{file}?signature=1"))
    }

    fn text(&self, _: &str) -> Option<String> {
        Some("a,b\n1,2".to_owned())
    }

    fn bytes(&self, file: &str) -> Option<Bytes> {
        Some(file.to_owned().into())
    }
}

/// One line per result, for snapshots.
pub(super) fn describe(end: &ItemResult) -> String {
    let (outcome, usage_known) = match end {
        ItemResult::Retry(why) => return format!("retry: {why}"),
        ItemResult::AccountFault(why) => return format!("account: {why}"),
        ItemResult::Outcome {
            outcome,
            is_usage_known: usage_known,
        } => (outcome, usage_known),
    };
    let completion = match outcome {
        Outcome::Failure(CargoFailure { code, message }) => {
            return format!("failed: {}: {message}", code.as_str());
        }
        Outcome::Success(completion) => completion,
    };
    let usage = completion.usage();
    let usage = if *usage_known {
        format!("{} in, {} out", usage.input_tokens, usage.output_tokens)
    } else {
        assert_eq!(usage.total(), 0);
        "usage unknown".to_owned()
    };
    match completion {
        Completion::Chat(chat) => {
            let texts: String = chat.content.iter().map(|it| it.text.as_str()).collect();
            format!("{texts:?}, {:?}, {usage}", chat.stop_reason)
        }
        Completion::Embedding(embedding) => format!("{:?}, {usage}", embedding.embeddings),
    }
}

/// The completion as JSON, as callers receive it.
pub(super) fn completion_json(end: ItemResult) -> String {
    let ItemResult::Outcome {
        outcome: Outcome::Success(completion),
        ..
    } = end
    else {
        panic!("{end:?}")
    };
    serde_json::to_string(&completion).unwrap()
}

/// The encoded line without its line ending.
pub(super) fn line_text(encoded: Vec<u8>) -> String {
    let mut line = String::from_utf8(encoded).unwrap();
    assert_eq!(line.pop(), Some('\n'));
    assert!(!line.contains(['\n', '\r']));
    line
}
