//! The items of a job: their bytes and a summary of each result.

use std::collections::HashSet;

use bytes::Bytes;
use serde_json::Value;

use crate::answer::{AnswerFaults, answer_request};
use crate::cache::{CacheCounts, PromptCaches};
use crate::clock::SimulatorTime;
use crate::invalid_request::InvalidRequest;
use crate::prompt::CacheMark;
use crate::request::{ItemRequest, RequestFormat};
use crate::rule;
use crate::usage::SimulatedUsage;

/// One item. Its answer is not stored but rendered on each read.
#[derive(Debug)]
pub struct SimulatedItem {
    /// A slice of the request body, which all items share.
    pub raw: Bytes,
    /// The final status: 200 or an error.
    pub status: u16,
    /// How often its line appears in the results.
    pub copies: u8,
    /// What the provider bills if the item runs.
    pub usage: SimulatedUsage,
    /// The same if a filter removes the answer.
    usage_if_blocked: SimulatedUsage,
    /// The tokens of the request. They count before it runs, and also if it fails.
    pub input_tokens: u64,
    pub cache_marks: Vec<CacheMark>,
    pub cache: CacheCounts,
}

#[derive(Debug, Default)]
pub struct SimulatedManifest {
    pub items: Vec<SimulatedItem>,
    pub ids_sha256: String,
}

impl SimulatedItem {
    pub fn billed(&self, is_blocked: bool) -> SimulatedUsage {
        if is_blocked {
            self.usage_if_blocked
        } else {
            self.usage
        }
    }
}

impl SimulatedManifest {
    pub fn input_tokens(&self) -> u64 {
        self.items.iter().map(|item| item.input_tokens).sum()
    }

    /// The billed tokens of the first `done` items.
    pub fn usage(&self, done: usize) -> SimulatedUsage {
        let mut sum = SimulatedUsage::default();
        let answered = self.items.iter().take(done).filter(|it| it.status == 200);
        for item in answered {
            sum += item.usage;
        }
        sum
    }

    /// Lets the items use the caches of their account, one after the other.
    pub fn use_caches(&mut self, caches: &mut PromptCaches, now: SimulatorTime) {
        let marked = self
            .items
            .iter_mut()
            .filter(|it| !it.cache_marks.is_empty());
        for item in marked {
            item.cache = caches.apply(&item.cache_marks, now);
            for usage in [&mut item.usage, &mut item.usage_if_blocked] {
                // Directives name other counts, and some refusals cost nothing.
                let is_directed = usage.cached + usage.writes() > 0;
                if !is_directed && usage.input > 0 {
                    usage.cached = item.cache.read;
                    usage.cache_write = item.cache.write;
                    usage.long_cache_write = item.cache.long_write;
                }
            }
        }
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
    pub fn add(
        &mut self,
        raw: Bytes,
        id: String,
        question: &Result<ItemRequest, InvalidRequest>,
    ) -> bool {
        let mut item = SimulatedItem {
            raw,
            status: 400,
            copies: 1,
            usage: SimulatedUsage::default(),
            usage_if_blocked: SimulatedUsage::default(),
            input_tokens: 0,
            cache_marks: Vec::new(),
            cache: CacheCounts::default(),
        };
        if let Ok(question) = question {
            item.copies = question.directives().copies();
            item.input_tokens = question.input_tokens();
            item.cache_marks = question.cache_marks().to_vec();
            let answer = answer_request(question, AnswerFaults::default(), item.cache);
            (item.status, item.usage) = answer.billed();
            let blocked = AnswerFaults {
                is_blocked: true,
                ..AnswerFaults::default()
            };
            (_, item.usage_if_blocked) = answer_request(question, blocked, item.cache).billed();
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
    format: RequestFormat<'_>,
    body: Option<&Value>,
) -> Result<ItemRequest, InvalidRequest> {
    match body {
        Some(body) if body.is_object() => ItemRequest::parse(format, body),
        _ => Err("the request has no body".into()),
    }
}
