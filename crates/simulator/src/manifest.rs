//! The items of a job: their bytes, and in brief what will become of each.

use std::collections::HashSet;

use bytes::Bytes;
use serde_json::Value;

use crate::answer::{Answer, Habits, Usage, answer};
use crate::provider::Provider;
use crate::question::{Kind, Question};
use crate::rule;

/// One item. Its answer is not kept: it is made anew whenever it is read.
#[derive(Debug)]
pub struct Item {
    /// A part of the bytes that were sent, shared with all other items.
    pub raw: Bytes,
    /// The status it will end with: 200 or an error.
    pub status: u16,
    /// How often its line will be in the results.
    pub copies: u8,
    pub input_tokens: u64,
    pub output_tokens: u64,
}

#[derive(Debug, Default)]
pub struct Manifest {
    pub items: Vec<Item>,
    pub ids_sha256: String,
}

impl Manifest {
    pub fn input_tokens(&self) -> u64 {
        self.items.iter().map(|item| item.input_tokens).sum()
    }

    /// What the first so many items cost.
    pub fn usage(&self, done: usize) -> Usage {
        let answered = self.items.iter().take(done).filter(|it| it.status == 200);
        answered.fold(Usage::default(), |sum, item| Usage {
            input: sum.input + item.input_tokens,
            output: sum.output + item.output_tokens,
        })
    }
}

/// Takes items in, one after the other.
#[derive(Debug, Default)]
pub struct Builder {
    items: Vec<Item>,
    ids: HashSet<String>,
    repeated: Vec<String>,
}

impl Builder {
    /// Whether the id is new.
    pub fn add(&mut self, raw: Bytes, id: String, question: &Result<Question, String>) -> bool {
        let mut item = Item {
            raw,
            status: 400,
            copies: 1,
            input_tokens: 0,
            output_tokens: 0,
        };
        if let Ok(question) = question {
            item.copies = question.directives().copies();
            item.input_tokens = question.input_tokens();
            match answer(question, Habits::default()) {
                Answer::Failed(failed) => item.status = failed.status,
                Answer::Vectors(_) => item.status = 200,
                Answer::Chat(chat) => {
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

    pub fn finish(self) -> Manifest {
        let ids: Vec<String> = self.ids.into_iter().chain(self.repeated).collect();
        Manifest {
            items: self.items,
            ids_sha256: rule::ids_digest(ids),
        }
    }
}

/// The question inside a document, where it is one.
pub fn question(provider: Provider, kind: Kind, body: Option<&Value>) -> Result<Question, String> {
    match body {
        Some(body) if body.is_object() => Question::read(provider, kind, body),
        _ => Err("the request has no body".to_owned()),
    }
}
