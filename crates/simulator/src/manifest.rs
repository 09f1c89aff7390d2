//! The items of a job: their bytes and a summary of each result.

use std::collections::HashSet;

use bytes::Bytes;
use serde_json::Value;

use crate::answer::{AnswerFaults, SimulatedAnswer, SimulatedUsage, answer_request};
use crate::provider::SimulatedProvider;
use crate::request::{ItemRequest, TaskKind};
use crate::rule;

/// One item. Its answer is not stored but rendered on each read.
#[derive(Debug)]
pub struct SimulatedItem {
    /// A slice of the request body, which all items share.
    pub raw: Bytes,
    /// The final status: 200 or an error.
    pub status: u16,
    /// How often its line appears in the results.
    pub copies: u8,
    pub input_tokens: u64,
    pub output_tokens: u64,
}

#[derive(Debug, Default)]
pub struct SimulatedManifest {
    pub items: Vec<SimulatedItem>,
    pub ids_sha256: String,
}

impl SimulatedManifest {
    pub fn input_tokens(&self) -> u64 {
        self.items.iter().map(|item| item.input_tokens).sum()
    }

    /// The token usage of the first `done` items.
    pub fn usage(&self, done: usize) -> SimulatedUsage {
        let answered = self.items.iter().take(done).filter(|it| it.status == 200);
        answered.fold(SimulatedUsage::default(), |sum, item| SimulatedUsage {
            input: sum.input + item.input_tokens,
            output: sum.output + item.output_tokens,
        })
    }
}

/// Collects items one by one.
#[derive(Debug, Default)]
pub struct ManifestBuilder {
    items: Vec<SimulatedItem>,
    ids: HashSet<String>,
    repeated: Vec<String>,
}

impl ManifestBuilder {
    /// False: the id is a duplicate.
    pub fn add(&mut self, raw: Bytes, id: String, question: &Result<ItemRequest, String>) -> bool {
        let mut item = SimulatedItem {
            raw,
            status: 400,
            copies: 1,
            input_tokens: 0,
            output_tokens: 0,
        };
        if let Ok(question) = question {
            item.copies = question.directives().copies();
            item.input_tokens = question.input_tokens();
            match answer_request(question, AnswerFaults::default()) {
                SimulatedAnswer::Failed(failed) => item.status = failed.status,
                SimulatedAnswer::Embeddings(_) => item.status = 200,
                SimulatedAnswer::Chat(chat) => {
                    item.status = 200;
                    item.output_tokens =
                        rule::output_tokens(chat.text.as_deref().unwrap_or_default());
                }
            }
        }
        self.items.push(item);
        if self.ids.contains(&id) {
            self.repeated.push(id);
            return false;
        }
        self.ids.insert(id)
    }

    pub fn finish(self) -> SimulatedManifest {
        let ids: Vec<String> = self.ids.into_iter().chain(self.repeated).collect();
        SimulatedManifest {
            items: self.items,
            ids_sha256: rule::ids_digest(ids),
        }
    }
}

/// Parses the body of an item.
pub fn parse_request(
    provider: SimulatedProvider,
    kind: TaskKind,
    body: Option<&Value>,
) -> Result<ItemRequest, String> {
    match body {
        Some(body) if body.is_object() => ItemRequest::parse(provider, kind, body),
        _ => Err("the request has no body".to_owned()),
    }
}
